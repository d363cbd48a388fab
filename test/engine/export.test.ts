import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TensorFile } from '../../src/base/safetensors.ts';
import { fillBatch } from '../../src/data/batch.ts';
import type { Classification } from '../../src/data/dataset.ts';
import { loadData } from '../../src/data/load.ts';
import { openSession } from '../../src/onnx/backend.ts';
import { RuntimeTensor } from '../../src/onnx/runtime.ts';
import { dbench, small } from './runs.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-export-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const json = async (...args: string[]) => JSON.parse((await dbench([...args, '--json'], folder)).stdout);
const tested = 40;

/** Trains, and returns the run as `dbench show` tells it. */
async function trained(name: string, settings: object) {
  const whole = { ...small, name, replicas: 4, epochs: 1, ...settings };
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(whole));
  const [{ id }] = await json('run', `${name}.json`, '--backend', 'onnx');
  return json('show', id);
}

/** The share of test samples that an exported model gets right, all in one batch. */
async function accuracyOf(to: string, { experiment }: { experiment: { data: never; seed: number } }): Promise<number> {
  const { test, shape, classes } = (await loadData(experiment.data, { seed: experiment.seed })) as Classification;
  const x = new Float32Array(tested * shape.reduce((a, b) => a * b, 1));
  const y = new Int32Array(tested);
  fillBatch(test, [...y.keys()], x, y);
  const session = await openSession(readFileSync(join(folder, to, 'model.onnx')));
  const { logits } = await session.run({ x: new RuntimeTensor('float32', x, [tested, ...shape]) });
  session.release();
  const rows = Array.from(y, (_, i) => Array.from(logits!.data.subarray(i * classes, (i + 1) * classes)));
  return rows.filter((row, i) => row.indexOf(Math.max(...row)) === y[i]).length / tested;
}

const images = { kind: 'synthetic', classes: 4, shape: [3, 8, 8], train: 320, test: tested, noise: 2 };

describe('dbench export', () => {
  it.each([
    ['batch-norm', { data: images, model: { kind: 'resnet20', width: 4 } }],
    [
      'push-sum',
      { data: { ...small.data, test: tested }, algorithm: { kind: 'sgp' }, topology: { kind: 'exponential' } },
    ],
  ])('gives the merged model that was evaluated: %s', async (name, settings) => {
    const shown = await trained(name, settings);
    const { files } = await json('export', shown.id, '--to', name, '--batch', String(tested));
    expect(files.map((file: { name: string }) => file.name).sort()).toEqual(readdirSync(join(folder, name)).sort());
    expect(await accuracyOf(name, shown)).toBeCloseTo(shown.mergedAccuracy, 9);
  });

  it('gives one replica, exactly as its checkpoint has it, or says why it cannot', async () => {
    const { id, steps } = await trained('one', { model: { kind: 'mlp', hidden: [5] } });
    await json('export', id, '--to', 'two', '--replica', '2');
    const all = new TensorFile(
      join(
        folder,
        'runs',
        id,
        'checkpoints',
        `step-${steps}`,
        readdirSync(join(folder, 'runs', id, 'checkpoints', `step-${steps}`)).find((file) => /-3\./.test(file))!,
      ),
    );
    const own = new TensorFile(join(folder, 'two', 'model.safetensors'));
    expect(own.metadata).toEqual({ format: 'pt', run: id });
    expect(own.shape('fc1.weight')).toEqual([5, 10]);
    const [count, size] = all.shape('params')!;
    const [wanted, found] = [new Float32Array(50), new Float32Array(50)];
    all.read('params', (count! - 2) * size!, wanted);
    own.read('fc1.weight', 0, found);
    expect(found).toEqual(wanted);
    all.close();
    own.close();
    const card = readFileSync(join(folder, 'two', 'README.md'), 'utf8');
    expect(card).toContain(`replica 2 after ${steps} steps`);
    expect(card).not.toContain(folder);

    const told = async (...args: string[]) => (await dbench(['export', id, ...args], folder)).stderr;
    expect(await told('--to', 'x', '--replica', '4')).toContain('has replicas 0 to 3');
    expect(await told('--to', 'two')).toContain('--to two: the folder is not empty');
    rmSync(join(folder, 'runs', id, 'checkpoints'), { recursive: true });
    expect(await told('--to', 'x')).toContain('has no checkpoint');
    // A refusal leaves nothing behind.
    expect(readdirSync(folder)).not.toContain('x');
  });
});
