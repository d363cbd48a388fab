import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-sweep-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Row {
  readonly id: string | null;
  readonly name: string;
  readonly status: string;
  readonly paramsSha256: string;
  readonly sweep: Readonly<Record<string, unknown>>;
}

function dbench(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], { cwd: folder, encoding: 'utf8' });
  return { status, stdout, stderr };
}

function write(name: string, settings: object): string {
  const base = {
    name: 'small',
    replicas: 4,
    data: { kind: 'synthetic', train: 64, test: 16, shape: [8] },
    model: { kind: 'mlp', hidden: [4] },
    batch: 4,
    learningRate: { base: 0.05 },
    compare: [{ name: 'ring' }, { name: 'full', topology: { kind: 'complete' } }],
  };
  writeFileSync(join(folder, name), JSON.stringify({ ...base, ...settings }));
  return name;
}

/** A process whose words can be waited for. */
function start(...args: string[]): { child: ChildProcess; said(pattern: RegExp): Promise<string> } {
  const child = spawn(process.execPath, [main, ...args], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  child.stderr!.on('data', (chunk) => {
    text += chunk;
  });
  const said = async (pattern: RegExp) => {
    while (!pattern.test(text)) {
      if (child.exitCode !== null) throw new Error(`ended without saying ${pattern}: ${text}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return text;
  };
  return { child, said };
}

/** Waits for a file: what a process does, seen from outside. */
async function appears(path: () => string | undefined): Promise<void> {
  for (let found = path(); found === undefined || !existsSync(found); found = path())
    await new Promise((resolve) => setTimeout(resolve, 20));
}

const rowsOf = (stdout: string) => JSON.parse(stdout) as Row[];
/** Folders of runs; what is told of the whole list is hidden. */
const runsIn = (root: string) => readdirSync(join(folder, root)).filter((name) => !name.startsWith('.'));
const results = (root: string) =>
  Object.fromEntries(
    runsIn(root)
      .filter((id) => existsSync(join(folder, root, id, 'result.json')))
      .map((id) => [id, readFileSync(join(folder, root, id, 'result.json'), 'utf8')]),
  );

describe('a sweep', () => {
  it('is run whole, and not again', () => {
    const file = write('whole.json', { epochs: 2, sweep: { seed: [1, 2], replicas: [4, 8] } });
    const first = dbench('run', file, '--runs', 'whole', '--json');
    expect(first.stderr).toContain('8 runs: 0 done before, 0 to resume, 8 to start');
    expect(first.stderr).toMatch(/^2\/8 {2}full seed=1 replicas=4 .* test /m);
    expect(first.stderr).toContain('8 runs: 8 complete');
    expect(first.status).toBe(0);
    expect(rowsOf(first.stdout).map(({ name, sweep }) => [name, sweep])).toEqual(
      [
        { seed: 1, replicas: 4 },
        { seed: 1, replicas: 8 },
        { seed: 2, replicas: 4 },
        { seed: 2, replicas: 8 },
      ].flatMap((point) => [
        ['ring', point],
        ['full', point],
      ]),
    );
    const kept = results('whole');
    const second = dbench('compare', file, '--runs', 'whole', '--json');
    expect(second.stderr).toContain('8 runs: 8 done before, 0 to resume, 0 to start');
    expect(second).toMatchObject({ status: 0, stdout: first.stdout });
    expect(results('whole')).toEqual(kept);
    expect(readdirSync(join(folder, 'whole'))).toHaveLength(8);
    expect(dbench('run', file, '--runs', 'whole').stdout).toMatch(/^full seed=2 replicas=8 +7 /m);
  });

  /** Long enough to be caught in the middle. */
  const long = {
    compare: undefined,
    epochs: 150,
    checkpoints: { everyEpochs: 10 },
    evaluation: { everyEpochs: 150 },
    sweep: { seed: [1, 2, 3] },
  };

  it.each(['SIGINT', 'SIGKILL'] as const)(
    'that gets %s in the middle is finished by the same command, to the same bits',
    async (signal) => {
      const file = write('long.json', long);
      const { child, said } = start('run', file, '--runs', signal);
      await said(/^1\/3 /m);
      const done = Object.keys(results(signal));
      // In the middle of the second run: it has written a checkpoint.
      await appears(() => {
        const id = runsIn(signal).find((each) => !done.includes(each));
        return id === undefined ? undefined : join(folder, signal, id, 'checkpoints', 'step-40');
      });
      const ended = once(child, 'exit');
      child.kill(signal);
      const [code] = await ended;
      expect(code).toBe(signal === 'SIGINT' ? 130 : null);
      if (signal === 'SIGINT') expect(await said(/$/)).toMatch(/stopped; the same command runs what is left/);
      const before = results(signal);
      expect(Object.keys(before)).toHaveLength(signal === 'SIGINT' ? 2 : 1);

      const again = dbench('run', file, '--runs', signal, '--json');
      expect(again.stderr).toContain('3 runs: 1 done before, 1 to resume, 1 to start');
      expect(again.status).toBe(0);
      const rows = rowsOf(again.stdout);
      expect(rows.map(({ status }) => status)).toEqual(Array(3).fill('complete'));
      expect(runsIn(signal)).toHaveLength(3);
      for (const id of done) expect(results(signal)[id]).toBe(before[id]);

      const whole = rowsOf(dbench('run', file, '--runs', 'uninterrupted', '--json').stdout);
      expect(rows.map(({ paramsSha256 }) => paramsSha256)).toEqual(whole.map(({ paramsSha256 }) => paramsSha256));
    },
  );

  it('whose run finds a file called stop says so, and that it is not done', async () => {
    const file = write('stop.json', { ...long, sweep: undefined });
    const { child, said } = start('run', file, '--runs', 'stop');
    await appears(() => {
      const [id] = existsSync(join(folder, 'stop')) ? runsIn('stop') : [];
      return id === undefined ? undefined : join(folder, 'stop', id, 'checkpoints', 'step-40');
    });
    const ended = once(child, 'exit');
    writeFileSync(join(folder, 'stop', runsIn('stop')[0]!, 'stop'), '');
    expect(await ended).toEqual([130, null]);
    expect(await said(/$/)).toMatch(/stopped; resume with: dbench run --resume \S+ --runs stop/);
  });

  it('goes on when a run diverges or cannot run, and the exit code tells', () => {
    // That a batch is larger than all a replica has shows only with the data.
    const file = write('bad.json', {
      epochs: 1,
      sweep: { 'learningRate.base': [1e30, 0.05], batch: [4, 1000] },
    });
    const { status, stdout, stderr } = dbench('run', file, '--runs', 'bad', '--json');
    const rows = rowsOf(stdout);
    expect(rows.map((row) => row.status)).toEqual([
      'diverged',
      'diverged',
      'failed',
      'failed',
      'complete',
      'complete',
      'failed',
      'failed',
    ]);
    expect(stderr).toContain('8 runs: 2 diverged, 4 failed, 2 complete');
    expect(stderr).toMatch(/failed: .*fewer than one batch.*; use fewer replicas, a smaller batch/);
    expect(stderr).not.toMatch(/^ +at /m);
    expect(status).toBe(1);
  });

  it('tells once that its folder cannot be made', () => {
    const file = write('nowhere.json', { epochs: 1, sweep: { seed: [1, 2] } });
    const { status, stdout, stderr } = dbench('run', file, '--runs', join(file, 'runs'));
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(
      stderr.match(/cannot make the folder nowhere\.json\/runs: a part of the path is not a folder/g),
    ).toHaveLength(1);
  });

  it('leaves alone what another process is running', async () => {
    const file = write('shared.json', { ...long, epochs: 2000, sweep: { seed: [1] } });
    const { child } = start('run', file, '--runs', 'shared');
    try {
      await appears(() => {
        const id = existsSync(join(folder, 'shared')) ? runsIn('shared')[0] : undefined;
        return id === undefined ? undefined : join(folder, 'shared', id, 'checkpoints', 'step-40');
      });
      const query = dbench('query', 'select name, status, steps from runs', '--runs', 'shared', '--json');
      expect(query.stderr).toMatch(/left out: small-\w+ is being written by another process/);
      expect(JSON.parse(query.stdout)).toEqual([{ name: 'small', status: 'running', steps: null }]);
    } finally {
      child.kill('SIGKILL');
    }
  });
});

it('dbench report writes a TensorBoard file for each run', () => {
  const { status, stderr } = dbench('report', 'whole', '--tensorboard', 'board');
  expect(stderr).toContain('wrote 8 files; see them with: tensorboard --logdir board');
  expect(status).toBe(0);
  for (const id of readdirSync(join(folder, 'whole'))) {
    const [file, ...others] = readdirSync(join(folder, 'board', id));
    expect(others).toEqual([]);
    expect(file).toMatch(/tfevents/);
    // The first record: its length, then after the checksum the time, and the version by which the format is known.
    const bytes = readFileSync(join(folder, 'board', id, file!));
    expect(bytes.subarray(12, 12 + Number(bytes.readBigUInt64LE())).toString('latin1')).toContain('brain.Event:2');
  }
});

describe('dbench query', () => {
  const ask = (...args: string[]) => dbench('query', ...args, '--runs', 'whole');

  it('answers as a table, as JSON and as CSV', () => {
    const sql = 'select name, replicas, count(*) as seeds, max(connections) as k from runs group by all order by all';
    expect(
      ask(sql)
        .stdout.split('\n')
        .map((line) => line.trimEnd()),
    ).toEqual([
      'name  replicas  seeds  k',
      '────  ────────  ─────  ─',
      'full         4      2  3',
      'full         8      2  7',
      'ring         4      2  2',
      'ring         8      2  2',
      '',
      '4 rows',
      '',
    ]);
    expect(JSON.parse(ask(sql, '--json').stdout)[1]).toEqual({ name: 'full', replicas: 8, seeds: 2, k: 7 });
    expect(ask(`select 'a,"b"' as x, null as y, [1, 2] as z`, '--csv').stdout).toBe('x,y,z\n"a,""b""",,"[1,2]"\n');
  });

  it('knows the same accuracy as the runs', () => {
    const rows = JSON.parse(ask('select run, accuracy from runs order by run', '--json').stdout);
    const runs = JSON.parse(dbench('runs', '--runs', 'whole', '--json').stdout) as {
      id: string;
      accuracy: { mean: number };
    }[];
    expect(rows).toEqual(
      runs
        .sort((a, b) => (a.id < b.id ? -1 : 1))
        .map(({ id, accuracy }) => ({ run: id, accuracy: expect.closeTo(accuracy.mean, 12) })),
    );
  });

  it('the examples in its help run', () => {
    const { stdout } = ask('--help');
    const examples = [...stdout.matchAll(/dbench query (["'])(.*?)\1\n/gs)].map((found) => found[2]!);
    expect(examples).toHaveLength(3);
    for (const example of examples) {
      const { status, stdout: answer } = ask(example, '--json');
      expect(status, example).toBe(0);
      expect(JSON.parse(answer).length, example).toBeGreaterThan(0);
    }
  });

  it.each([
    ['selct 1', /^dbench: Parser Error: syntax error at or near "selct"/],
    ['select acuracy from runs', /Referenced column "acuracy" not found/],
    ['select * from stps', /Table with name stps does not exist!\n {2}Did you mean "steps"\?/],
    [
      "copy runs to 'out.csv'",
      /file system operations are disabled.*\nhint: a question reads the runs and nothing else/,
    ],
    ['delete from r0.steps', /read-only/],
    [' ', /the question is empty/],
  ])('refuses %s', (sql, message) => {
    const { status, stdout, stderr } = ask(sql);
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/^ +at /m);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(existsSync(join(folder, 'out.csv'))).toBe(false);
  });

  it('names damaged runs and answers from the others', () => {
    const [first, second] = readdirSync(join(folder, 'whole')).sort();
    const events = (id: string) => join(folder, 'whole', id, 'events.duckdb');
    const [kept, other] = [readFileSync(events(first!)), readFileSync(events(second!))];
    writeFileSync(events(first!), Buffer.from(kept).fill(0, 0, 5000));
    writeFileSync(events(second!), Buffer.from(other).fill(0xff, 20_000));
    const { status, stdout, stderr } = ask(
      'select count(distinct run) as runs, avg(norm) as mean from norms',
      '--json',
    );
    expect(stderr.match(/left out: .*/g)).toHaveLength(2);
    for (const id of [first, second]) expect(stderr).toContain(`left out: whole/${id}/events.duckdb cannot be read`);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)[0].runs).toBe(6);
    writeFileSync(events(first!), kept);
    writeFileSync(events(second!), other);
  });

  it('says what to do where there are no runs', () => {
    const { status, stderr } = dbench('query', 'select 1', '--runs', 'nowhere');
    expect(stderr).toBe('dbench: there are no runs in nowhere\nhint: start one with: dbench run FILE\n');
    expect(status).toBe(2);
  });
});
