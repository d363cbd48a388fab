import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { run } from '../command.ts';

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-directed-'));
  // A one-way ring, and replica 0 tells three more.
  writeFileSync(join(folder, 'edges.txt'), '6 directed\n0 1\n1 2\n2 3\n3 4\n4 5\n5 0\n0 2\n0 3\n0 4\n');
  const experiment = {
    name: 'directed',
    replicas: 6,
    data: {
      kind: 'synthetic',
      classes: 4,
      shape: [10],
      noise: 0.5,
      train: 960,
      test: 200,
      partition: { kind: 'dirichlet', alpha: 0.3 },
    },
    model: { kind: 'mlp', hidden: [16] },
    batch: 8,
    epochs: 8,
    learningRate: { base: 0.1 },
    topology: { kind: 'file', path: 'edges.txt' },
    compare: [
      { name: 'pushed', algorithm: { kind: 'sgp' } },
      { name: 'quantized', algorithm: { kind: 'quantized-push-sum', compressor: { kind: 'qsgd', levels: 255 } } },
    ],
  };
  writeFileSync(join(folder, 'a.json'), JSON.stringify(experiment));
});
afterAll(() => rmSync(folder, { recursive: true }));
const dbench = (...args: string[]) => run([process.execPath, main, ...args], folder);

it('push-sum learns on a directed edge list with irregular degrees, also with compressed messages', async () => {
  const { stdout } = await dbench('run', 'a.json', '--json');
  const runs = JSON.parse(stdout) as { status: string; mergedAccuracy: number; accuracy: { min: number } }[];
  expect(runs.map(({ status }) => status)).toEqual(['complete', 'complete']);
  for (const { mergedAccuracy, accuracy } of runs) {
    expect(mergedAccuracy).toBeGreaterThan(0.9);
    expect(accuracy.min).toBeGreaterThan(0.8);
  }
});

it.each([
  ['qg-dsgdm', /needs weights whose rows and columns sum to 1, which file with 6 replicas does not have/],
  ['choco', /needs symmetric weights/],
])('%s is refused there, with what fits', async (kind, says) => {
  const { status, stderr } = await dbench('run', 'a.json', '--set', `compare=[{name: a, algorithm: {kind: ${kind}}}]`);
  expect(stderr).toMatch(says);
  expect(stderr).toMatch(/it fits ring, .*; this topology fits dpsgd, sgp, robust-push-sum, quantized-push-sum/);
  expect(status).toBe(2);
});
