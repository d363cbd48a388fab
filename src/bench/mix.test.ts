import { expect, it } from 'vitest';
import { mixBench } from './mix.ts';

it('times every topology against a memory copy of the same matrix', async () => {
  const { data, rows } = await mixBench.run({ n: 8, parameters: 1000, workers: 1, repetitions: 3 });
  const { memcpy, topologies, usefulBytes } = data as {
    memcpy: { ms: number };
    topologies: { name: string; ms: number; gigabytesPerSecond: number; shareOfMemcpy: number; edgesToRing: number }[];
    usefulBytes: number;
  };
  expect(usefulBytes).toBe(64_000);
  // Lattices that do not exist for so few replicas are left out.
  expect(topologies.map(({ name, edgesToRing }) => [name, edgesToRing])).toEqual([
    ['ring', 1],
    ['torus', 1.5],
    ['lattice k=4', 2],
    ['exponential', 1.5],
    ['complete', 3.5],
  ]);
  for (const { ms, gigabytesPerSecond, shareOfMemcpy } of topologies) {
    expect(ms).toBeGreaterThan(0);
    expect(gigabytesPerSecond).toBeCloseTo(64_000 / ms / 1e6, 6);
    expect(shareOfMemcpy).toBeCloseTo(memcpy.ms / ms, 6);
  }
  expect(rows.length).toBe(6);
});

it('divides the work among workers', async () => {
  const { data } = await mixBench.run({ n: 8, parameters: 1000, workers: 2, repetitions: 2 });
  expect(data).toMatchObject({ workers: 2, topologies: [{ name: 'ring' }, {}, {}, {}, {}] });
});
