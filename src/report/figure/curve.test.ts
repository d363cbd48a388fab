import { describe, expect, it } from 'vitest';
import type { Group, Report, RunReport } from '../report.ts';
import { type CurveColumns, curveOf, lateDomain, positive } from './curve.ts';

const columns: readonly CurveColumns[] = [
  { step: [1, 2, 3], x: [10, 20, 30], y: [1, 2, 3], low: [0, 1, 2], high: [4, 3, 4] },
  // Ended early, and was faster.
  { step: [1, 2], x: [8, 16], y: [3, null], low: [2, null], high: [5, null] },
];
const report = { runs: columns.map((_, id) => ({ id: String(id) })) } as unknown as Report;
const group = { name: 'D_ring', runs: [0, 1] } as unknown as Group;
const read = (run: RunReport) => columns[Number(run.id)];

describe('curves', () => {
  it('are means over the runs that have a step', () => {
    const { name, points } = curveOf(report, group, read);
    expect(name).toBe('D_ring');
    expect(points.map(({ step, x, y, runs }) => [step, x, y, runs])).toEqual([
      [1, 9, 2, 2],
      [2, 20, 2, 1],
      [3, 30, 3, 1],
    ]);
  });

  it('have a band over seeds, over replicas, or none', () => {
    const first = (spread: 'seeds' | 'replicas' | 'none') => curveOf(report, group, read, spread).points[0]!;
    expect(first('seeds')).toMatchObject({ low: 1, high: 3 });
    expect(first('replicas')).toMatchObject({ low: 0, high: 5 });
    expect(first('none')).toMatchObject({ low: 2, high: 2 });
  });

  it('have an axis by their second half, bands included', () => {
    const at = (step: number, y: number, half = 0) => ({ step, x: step, y, low: y - half, high: y + half, runs: 1 });
    const curves = [
      { name: 'a', points: [at(1, 10), at(2, 80), at(3, 90), at(4, 92, 1)] },
      // Ended early: its own second half.
      { name: 'b', points: [at(1, 5), at(2, 85)] },
    ];
    expect(lateDomain(curves)).toEqual([5, 93]);
    expect(lateDomain(curves.slice(0, 1))).toEqual([80, 93]);
    expect(lateDomain([{ name: 'c', points: [at(1, 3)] }])).toBeUndefined();
    expect(lateDomain([])).toBeUndefined();
  });

  it('leave out what has no logarithm', () => {
    const points = [
      { step: 0, x: 0, y: 0, low: 0, high: 0, runs: 1 },
      { step: 1, x: 1, y: 2, low: 0, high: 4, runs: 2 },
    ];
    expect(positive({ name: 'a', points }).points).toEqual([{ step: 1, x: 1, y: 2, low: 2, high: 4, runs: 2 }]);
  });
});
