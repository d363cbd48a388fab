import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { noOneDnn } from '../backends.ts';

/** A program that makes many short runs; prints how many mappings it has after each tenth of them. */
const program = (backend: string, runs: number) => `
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resolve, run } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)};
const root = mkdtempSync(join(tmpdir(), 'dbench-soak-'));
for (let i = 1; i <= ${runs}; i++) {
  const [experiment] = resolve({
    name: 'soak', seed: i, replicas: 2, epochs: 1, batch: 8, learningRate: { base: 0.1 }, topology: { kind: 'ring' },
    data: { kind: 'synthetic', classes: 2, shape: [4], train: 32, test: 8 }, model: { kind: 'mlp', hidden: [4] },
  }, 'soak');
  for await (const _ of run(experiment, { root, workers: 2, backend: ${JSON.stringify(backend)} }));
  rmSync(root, { recursive: true });
  if (i % ${runs / 10} === 0) console.log(readFileSync('/proc/self/maps', 'utf8').split('\\n').length);
}
`;

/** More by hand: DBENCH_SOAK=1000 npx vitest run test/soak */
const runs = Number(process.env.DBENCH_SOAK ?? 30);

it.each(['onnx', 'onednn'].filter((backend) => backend === 'onnx' || noOneDnn === undefined))(
  `a process that makes ${runs} runs with %s keeps nothing of them mapped`,
  { timeout: 30_000 + runs * 10_000 },
  (backend) => {
    const folder = mkdtempSync(join(tmpdir(), 'dbench-soak-'));
    const file = join(folder, 'soak.mjs');
    writeFileSync(file, program(backend, runs));
    const mappings = execFileSync(process.execPath, [file], { encoding: 'utf8' }).trim().split('\n').map(Number);
    rmSync(folder, { recursive: true });
    const [early, late] = [Math.max(...mappings.slice(1, 4)), Math.min(...mappings.slice(-3))];
    expect(mappings).toHaveLength(10);
    // Wasm memories of up to eight runs may wait for a collection: two or three mappings each.
    expect(late - early).toBeLessThan(30);
  },
);
