import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { run } from '../command.ts';

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-files-'));
  mkdirSync(join(folder, 'study'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Every command is given from a folder that is not the experiment's. */
const dbench = (...args: string[]) => run([process.execPath, main, ...args], folder);
const write = (name: string, text: string) => writeFileSync(join(folder, 'study', name), text);
const samples = (shift: number) =>
  Array.from({ length: 60 }, (_, i) => `${i % 2} 1:${i + shift} 2:${i % 3}`).join('\n');
const graph = '4\n0 1\n1 2\n2 3\n';

function experiment(more: object = {}): void {
  write(
    'a.json',
    JSON.stringify({
      name: 'a',
      replicas: 4,
      data: { kind: 'libsvm', trainPath: 'train.txt' },
      model: { kind: 'mlp', hidden: [4] },
      batch: 2,
      epochs: 2,
      learningRate: { base: 0.01 },
      topology: { kind: 'file', path: 'graph.txt' },
      ...more,
    }),
  );
  write('train.txt', samples(0));
  write('graph.txt', graph);
}

const stored = () => readdirSync(join(folder, 'runs'));

describe('files that an experiment names', () => {
  it('give a new run when they change, and the old one when they are as before', async () => {
    experiment({ sweep: { seed: [1] } });
    const sweep = async () => (await dbench('run', 'study/a.json')).stderr;
    expect(await sweep()).toContain('0 done before');
    write('graph.txt', `${graph}3 0\n`);
    expect(await sweep()).toContain('0 done before');
    write('train.txt', samples(1));
    expect(await sweep()).toContain('0 done before');
    write('train.txt', samples(0));
    write('graph.txt', graph);
    expect(await sweep()).toContain('1 done before');
    expect(stored()).toHaveLength(3);
    // The two graphs are two implementations of one task; another data file is another task.
    const report = JSON.parse((await dbench('report', 'a', '--mixed', '--json')).stdout);
    expect(report.runs).toHaveLength(3);
    expect(report.groups).toHaveLength(3);
    expect(report.comparisons).toHaveLength(2);
    expect(report.notes.filter((note: string) => note.includes('left out'))).toEqual([]);
  }, 180_000);

  it('are looked for in the folder of the experiment', async () => {
    experiment();
    expect(await dbench('validate', 'study/a.json')).toMatchObject({ status: 0, stderr: '' });
    expect((await dbench('data', 'partition', 'study/a.json')).stdout).toContain('48 samples');
  });
});

describe('a run that was cut off', () => {
  /** As kill -9 in the second epoch leaves it: with the checkpoint of the first, without a result. */
  async function cutOff(): Promise<string> {
    experiment();
    expect((await dbench('run', 'study/a.json')).status).toBe(0);
    const [id] = stored();
    const own = join(folder, 'runs', id!);
    rmSync(join(own, 'result.json'));
    rmSync(join(own, 'checkpoints/step-12'), { recursive: true });
    expect(readdirSync(join(own, 'checkpoints'))).toEqual(['step-6']);
    return id!;
  }

  it('is resumed with its own copy of the topology, whatever became of the file', async () => {
    const id = await cutOff();
    rmSync(join(folder, 'study/graph.txt'));
    const resumed = await dbench('run', '--resume', id, '--json');
    expect(resumed.stderr).not.toContain('dbench:');
    expect(JSON.parse(resumed.stdout)[0]).toMatchObject({ status: 'complete' });
    expect(await dbench('report', id)).toMatchObject({ status: 0, stderr: '' });
  }, 180_000);

  it('is not resumed with other data', async () => {
    const id = await cutOff();
    write('train.txt', samples(1));
    const refused = await dbench('run', '--resume', id);
    expect(refused).toMatchObject({ status: 2, stdout: '' });
    expect(refused.stderr).toMatch(/^dbench: .*train.txt has changed: its SHA-256 is .*\nhint: bring back the file/);
    expect(stored()).toEqual([id]);
  }, 180_000);
});
