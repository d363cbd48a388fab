import { describe, expect, it } from 'vitest';
import { Random } from '../base/random.ts';
import { buildTopology } from '../topology/topology.ts';
import { driftAlone, driftUnderGossip } from './noise.ts';

describe('how far noise drives replicas apart', () => {
  it('is, between exact averages, as in a table that was simulated apart', () => {
    // Means over the steps of a period, n = 64, momentum .9: all-reduce every 3rd, 8th and 16th step with common momentum.
    const mean = (period: number) =>
      Array.from({ length: period }, (_, t) => driftAlone(64, 0.9, t + 1)).reduce((sum, v) => sum + v, 0) / period;
    for (const [period, simulated] of [
      [3, 5.8],
      [8, 45],
      [16, 189],
    ] as const)
      expect(Math.abs(mean(period) / simulated - 1)).toBeLessThan(0.03);
    expect(driftAlone(4, 0, 5)).toBeCloseTo(0.75 * 5, 12);
  });

  it('is, under gossip that settled, as in that table too', () => {
    const settled = (kind: string, beta: number, every: number) => {
      const topology = buildTopology({ kind }, 64, 1);
      const at = (gossips: number) =>
        driftUnderGossip((gossip) => topology.mixing(gossip), { n: 64, beta, every, gossips });
      return at(60);
    };
    // In every step there is one value a period.
    expect(Math.abs(settled('one-peer-exponential', 0, 1) / 1.9 - 1)).toBeLessThan(0.04);
    expect(Math.abs(settled('one-peer-exponential', 0.9, 1) / 24 - 1)).toBeLessThan(0.1);
    expect(Math.abs(settled('exponential', 0.9, 1) / 8.5 - 1)).toBeLessThan(0.04);
    expect(Math.abs(settled('complete', 0.9, 1) / 5.2 - 1)).toBeLessThan(0.03);
  });

  it('is that of a simulation, before it settles and with steps between', () => {
    const [n, beta, every, gossips, columns] = [6, 0.8, 2, 3, 4000];
    const topology = buildTopology({ kind: 'ring' }, n, 1);
    const random = new Random(1, 'test');
    const [x, m] = [0, 1].map(() => Array.from({ length: n }, () => new Float64Array(columns))) as [
      Float64Array[],
      Float64Array[],
    ];
    let seen = 0;
    for (let t = 1; t <= every * (gossips + 1); t++) {
      for (let i = 0; i < n; i++)
        for (let c = 0; c < columns; c++) {
          m[i]![c] = beta * m[i]![c]! + random.normal();
          x[i]![c]! -= m[i]![c]!;
        }
      if (t === every * (gossips + 1))
        for (let c = 0; c < columns; c++) {
          const mean = x.reduce((sum, row) => sum + row[c]!, 0) / n;
          seen += x.reduce((sum, row) => sum + (row[c]! - mean) ** 2, 0) / n / columns;
        }
      else if (t % every === 0) {
        const before = x.map((row) => row.slice());
        for (let i = 0; i < n; i++)
          for (let c = 0; c < columns; c++)
            x[i]![c] = (before[i]![c]! + before[(i + 1) % n]![c]! + before[(i + n - 1) % n]![c]!) / 3;
      }
    }
    const found = driftUnderGossip((gossip) => topology.mixing(gossip), { n, beta, every, gossips });
    expect(Math.abs(found / seen - 1)).toBeLessThan(0.03);
  });

  it('is the same without gossip as alone', () => {
    const none = driftUnderGossip(() => buildTopology({ kind: 'ring' }, 8, 1).mixing(0), {
      n: 8,
      beta: 0.9,
      every: 7,
      gossips: 0,
    });
    expect(none).toBeCloseTo(driftAlone(8, 0.9, 7), 9);
  });
});
