import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { noOneDnn } from '../backends.ts';
import { dbench, outcomeOf, small } from './runs.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-store-'));
  writeFileSync(join(folder, 'small.json'), JSON.stringify(small));
});
afterEach(() => rmSync(folder, { recursive: true }));

const json = async (...args: string[]) => JSON.parse((await dbench([...args, '--json'], folder)).stdout);
const long = ['--set', 'epochs=40', '--set', 'data.train=4800', '--set', 'evaluation.everyEpochs=40'];

describe('a run', () => {
  it('leaves a folder from which everything can be told', async () => {
    const [summary] = await json('run', 'small.json');
    expect(summary).toMatchObject({
      name: 'small',
      status: 'complete',
      replicas: 12,
      steps: 30,
      connections: 2,
      gossips: 30,
    });
    expect(summary.peakGini).toBeGreaterThan(0);
    expect(summary.sentBytes).toBe(30 * 2 * 4 * 244);
    expect(readdirSync(join(folder, 'runs', summary.id)).sort()).toEqual([
      'checkpoints',
      'context.json',
      'dealt.json',
      'events.duckdb',
      'experiment.json',
      'result.json',
    ]);
    const dealt = JSON.parse(readFileSync(join(folder, 'runs', summary.id, 'dealt.json'), 'utf8'));
    const [told] = await json('data', 'partition', 'small.json');
    expect(dealt).toEqual({ counts: told.counts, totals: told.totals });
    const shown = await json('show', summary.id.slice(0, 8));
    expect(shown).toMatchObject({
      paramsSha256: summary.paramsSha256,
      experiment: { batch: 8 },
      context: { node: process.version },
    });
    expect(await json('runs')).toHaveLength(1);
  });

  it('keeps the newest two checkpoints, and a second run of the same beside the first', async () => {
    const [first] = await json('run', 'small.json');
    const [second] = await json('run', 'small.json');
    expect(readdirSync(join(folder, 'runs', first.id, 'checkpoints')).sort()).toEqual(['step-20', 'step-30']);
    expect(second.id).toBe(`${first.id}-2`);
    expect(second.paramsSha256).toBe(first.paramsSha256);
  });
});

describe('the backend of a run', () => {
  it('is recorded, and a run goes on with the one it began with', async () => {
    const [{ id }] = await json('run', 'small.json', '--backend', 'onnx');
    expect((await json('show', id)).context).toMatchObject({
      backend: 'onnx',
      backendVersion: expect.stringMatching(/^\d+\.\d+\.\d+/),
    });
    // As if it had been stopped.
    const result = join(folder, 'runs', id, 'result.json');
    writeFileSync(result, JSON.stringify({ ...JSON.parse(readFileSync(result, 'utf8')), status: 'stopped' }));
    const refused = await dbench(['run', '--resume', id, '--backend', 'onednn'], folder);
    expect(refused.status).toBe(2);
    expect(refused.stderr).toMatch(/began with the backend onnx and can only be resumed with it/);
  });

  it.skipIf(noOneDnn !== undefined)(`decides the last bits${noOneDnn ? ` (${noOneDnn})` : ''}`, async () => {
    const [first] = await json('run', 'small.json', '--backend', 'onednn');
    const [second] = await json('run', 'small.json', '--backend', 'onednn', '--workers', '1');
    const [other] = await json('run', 'small.json', '--backend', 'onnx');
    expect(second.paramsSha256).toBe(first.paramsSha256);
    expect(other.paramsSha256).not.toBe(first.paramsSha256);
    expect(other.loss).toBeCloseTo(first.loss, 3);
  });

  it('must be one of those there are', async () => {
    const { status, stderr } = await dbench(['run', 'small.json', '--backend', 'tpu'], folder);
    expect(status).not.toBe(0);
    expect(stderr).toMatch(/auto, onnx, onednn/);
  });
});

describe('an interrupted run', () => {
  it.each([
    ['SIGKILL', []],
    [
      'SIGKILL',
      ['--set', 'algorithm.kind=centralized', '--set', 'optimizer.kind=adam', '--set', 'learningRate.base=0.01'],
    ],
    [
      'SIGKILL',
      [
        ...['--set', 'algorithm={kind: ad-psgd, overlap: true}', '--set', 'network=lan'],
        ...['--set', 'devices={compute: 1ms, noise: {kind: exponential, mean: 0.5}}'],
      ],
    ],
    ['SIGINT', ['--set', 'consensus={kind: fixed, fraction: 0.5, maxDistance: 0.2}']],
  ] as const)('by %s goes on to the same bits %s', async (signal, settings) => {
    const args = ['run', 'small.json', ...long, ...settings];
    const [whole] = await json(...args, '--runs', 'whole');
    // Ended at some step after the first checkpoints.
    let endAt: number | undefined;
    const end = () => {
      const [id] = existsSync(join(folder, 'cut')) ? readdirSync(join(folder, 'cut')) : [];
      if (id !== undefined && existsSync(join(folder, 'cut', id, 'checkpoints', 'step-50')))
        endAt ??= Date.now() + 700 * Math.random();
      return endAt !== undefined && Date.now() >= endAt ? signal : undefined;
    };
    const killed = await dbench([...args, '--runs', 'cut'], folder, end);
    expect(killed.status).toBe(signal === 'SIGINT' ? 130 : null);
    const [id] = readdirSync(join(folder, 'cut'));
    expect((await json('show', id!, '--runs', 'cut')).status).toBe(signal === 'SIGINT' ? 'stopped' : 'interrupted');
    const [resumed] = await json('run', '--resume', id!, '--runs', 'cut', '--workers', '1');
    expect(resumed).toMatchObject({
      status: 'complete',
      steps: whole.steps,
      paramsSha256: whole.paramsSha256,
      sentBytes: whole.sentBytes,
    });
    expect(resumed.peakGini).toBeCloseTo(whole.peakGini, 12);
  });
});

it('variants that were not reached are named, and one that diverges sets the exit code', async () => {
  const compare = 'compare=[{name: first}, {name: second}]';
  const end = () =>
    existsSync(join(folder, 'two')) && readdirSync(join(folder, 'two')).length > 0 ? 'SIGINT' : undefined;
  const stopped = await dbench(['run', 'small.json', ...long, '--set', compare, '--runs', 'two'], folder, end);
  expect(stopped).toMatchObject({
    status: 130,
    stderr: expect.stringMatching(
      /stopped; resume with: dbench run --resume .*\nstopped; not started: second\n.* --continue /,
    ),
  });
  const diverged = await dbench(['run', 'small.json', '--set', 'learningRate.base=1e30', '--json'], folder);
  const launched = await dbench(
    ['run', 'small.json', '--set', 'learningRate.base=1e30', '--json', '--launch', 'env', '--retries', '1'],
    folder,
  );
  for (const { status, stdout, stderr } of [diverged, launched]) {
    expect(JSON.parse(stdout)).toMatchObject([{ status: 'diverged' }]);
    expect(status).toBe(1);
    expect(stderr).not.toContain('starting them again');
  }
});

describe('a checkpoint', () => {
  it('whose events were not stored any more is not gone on from', async () => {
    const [whole] = await json('run', 'small.json', '--set', 'checkpoints.keep=3');
    const checkpoints = join(folder, 'runs', whole.id, 'checkpoints');
    // As after a kill between the rename of the checkpoint and the flush of the events before it.
    const database = await DuckDBInstance.create(join(folder, 'runs', whole.id, 'events.duckdb'));
    const connection = await database.connect();
    for (const table of ['steps', 'norms', 'evaluations', 'checkpoints'])
      await connection.run(`delete from ${table} where step >= 20`);
    connection.closeSync();
    database.closeSync();
    rmSync(join(folder, 'runs', whole.id, 'result.json'));
    const [resumed] = await json('run', '--resume', whole.id);
    const { seconds: _, stepMs: __, computeShare: ___, trainingSeconds: ____, ...figures } = whole;
    expect(resumed).toMatchObject(figures);
    expect(readdirSync(checkpoints).sort()).toEqual(['step-10', 'step-20', 'step-30']);
  });
});

describe('Ctrl-C', () => {
  it('before the first step stops after it', async () => {
    const stopping = new AbortController();
    stopping.abort();
    const { end } = await outcomeOf({}, { signal: stopping.signal });
    expect(end).toMatchObject({ status: 'stopped', step: 1 });
  });
});

describe('runs', () => {
  it('lists one that another process is writing, and those beside what is damaged', async () => {
    const [summary] = await json('run', 'small.json');
    const damage = (id: string, file: string, text: string) => {
      cpSync(join(folder, 'runs', summary.id), join(folder, 'runs', id), { recursive: true });
      writeFileSync(join(folder, 'runs', id, file), text);
    };
    damage('a', 'experiment.json', '{');
    damage('b', 'events.duckdb', 'no database');
    mkdirSync(join(folder, 'runs', 'c'));
    const inOne = join(folder, 'runs', summary.id);
    const database = await DuckDBInstance.create(join(inOne, 'events.duckdb'));
    writeFileSync(join(inOne, 'lock'), String(process.pid));
    try {
      const { status, stdout, stderr } = await dbench(['runs', '--json'], folder);
      expect(status).toBe(0);
      const listed = JSON.parse(stdout) as { id: string; status: string; steps: number; sentBytes: number | null }[];
      expect(listed.map(({ id, status, steps, sentBytes }) => [id, status, steps, sentBytes]).sort()).toEqual([
        ['b', 'complete', 30, null],
        [summary.id, 'running', 30, null],
      ]);
      expect(stderr).toMatch(/a\/experiment\.json is damaged/);
      expect(stderr).toMatch(/b\/events\.duckdb cannot be read/);
      expect((await dbench(['show', summary.id], folder)).stdout).toMatch(/: running\n/);
      expect((await dbench(['show', 'a'], folder)).stderr).toMatch(/a\/experiment\.json is damaged/);
      expect((await dbench(['run', '--resume', 'b'], folder)).status).toBe(2);
    } finally {
      database.closeSync();
    }
  });

  it('that could not start leave nothing behind', async () => {
    const { status } = await dbench(['run', 'small.json', '--set', 'batch=100'], folder);
    expect(status).toBe(2);
    expect(existsSync(join(folder, 'runs'))).toBe(false);
  });

  it('of the same experiment at the same moment get folders of their own', async () => {
    const all = await Promise.all(Array.from({ length: 3 }, () => json('run', 'small.json', '--workers', '1')));
    expect(new Set(all.map(([summary]) => summary.id)).size).toBe(3);
    expect(new Set(all.map(([summary]) => summary.paramsSha256)).size).toBe(1);
  });
});

describe('mistakes', () => {
  it('nothing is resumed that is complete, unknown or another experiment', async () => {
    const [summary] = await json('run', 'small.json');
    const refused = async (...args: string[]) => {
      const { status, stderr } = await dbench(['run', ...args], folder);
      expect(status).toBe(2);
      return stderr;
    };
    expect(await refused('--resume', summary.id)).toMatch(/is complete: there is nothing to resume/);
    expect(await refused('--resume', 'nothing')).toMatch(/there is no run "nothing" in runs/);
    expect(await refused('small.json', '--resume', summary.id, '--set', 'seed=9')).toMatch(
      /was started with another experiment/,
    );
    expect(await refused()).toMatch(/the experiment is missing/);
    expect(await refused('small.json', '--workers', '0')).toMatch(/--workers must be a whole number/);
    writeFileSync(join(folder, 'file'), '');
    expect(await refused('small.json', '--runs', 'file/x')).toMatch(
      /cannot make the folder file\/x: a part of the path is not a folder/,
    );
  });

  it.runIf(process.getuid?.() === 0)(
    'a disk that is full ends the run with a word, and the last checkpoint stays',
    async () => {
      const disk = join(folder, 'disk');
      mkdirSync(disk);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1500k', 'tmpfs', disk]);
      try {
        const { status, stderr } = await dbench(
          ['run', 'small.json', '--runs', 'disk', '--set', 'model.hidden=[900]'],
          folder,
        );
        expect(stderr).toMatch(/cannot write disk\/.*the disk is full/);
        expect(status).toBe(2);
      } finally {
        execFileSync('umount', [disk]);
      }
    },
  );

  it('a damaged database is named', async () => {
    const [summary] = await json('run', 'small.json');
    writeFileSync(join(folder, 'runs', summary.id, 'events.duckdb'), 'no database');
    const { status, stderr } = await dbench(['show', summary.id], folder);
    expect(status).toBe(2);
    expect(stderr).toMatch(/events\.duckdb cannot be read/);
  });
});
