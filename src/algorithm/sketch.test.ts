import { describe, expect, it } from 'vitest';
import { Random } from '../base/random.ts';
import { type SketchFigure, sketchCodes, sketchedNumbers, sketchFigure, sketchOf } from './sketch.ts';

const [n, columns] = [64, 2000];

/** Rows with a common part of length 10 and disagreement of length 1. */
function rowsOf(seed: number): Float64Array[] {
  const direction = new Random(seed, 'test', n);
  const common = Float64Array.from({ length: columns }, () => (10 / Math.sqrt(columns)) * direction.normal());
  return Array.from({ length: n }, (_, i) => {
    const random = new Random(seed, 'test', i);
    return common.map((v) => v + random.normal() / Math.sqrt(columns));
  });
}

const exact = (rows: readonly Float64Array[]) => {
  const mean = rows[0]!.map((_, c) => rows.reduce((sum, row) => sum + row[c]!, 0) / n);
  const squared = (row: Float64Array) => row.reduce((sum, v) => sum + v * v, 0);
  const spread = rows.reduce((sum, row) => sum + squared(row.map((v, c) => v - mean[c]!)), 0) / n;
  return { centre: squared(mean), spread };
};

const sketched = (figure: SketchFigure, rows: readonly Float64Array[], buckets: number, step: number) => {
  const codes = sketchCodes(columns, buckets, step);
  return sketchFigure(
    figure,
    rows.map((row) => sketchOf(row, codes, buckets)),
  );
};

describe('sketches', () => {
  const rows = rowsOf(1);
  const { centre, spread } = exact(rows);
  const steps = Array.from({ length: 200 }, (_, step) => step);
  const errors = (figure: 'centre' | 'spread', buckets: number) => {
    const of = figure === 'centre' ? centre : spread;
    return steps.map((step) => sketched(figure, rows, buckets, step) / of - 1);
  };
  const rms = (values: readonly number[]) => Math.hypot(...values) / Math.sqrt(values.length);
  const mean = (values: readonly number[]) => values.reduce((sum, v) => sum + v, 0) / values.length;

  it('of 16 numbers know Ξ² to √(2/(16 r)), r being how many directions the disagreement has', () => {
    // Independent in 64 replicas: 63 directions.
    expect(rms(errors('spread', 16))).toBeCloseTo(Math.sqrt(2 / (16 * 63)), 2);
    expect(Math.abs(mean(errors('spread', 16)))).toBeLessThan(0.01);
  });

  it('of 64 numbers know the length of a mean to √(2/64), whatever the disagreement', () => {
    expect(rms(errors('centre', 64))).toBeCloseTo(Math.sqrt(2 / 64), 1);
    expect(Math.abs(mean(errors('centre', 64)))).toBeLessThan(0.04);
  });

  it('tell what noise adds to a mean from what is common', () => {
    const noise = Array.from({ length: n }, (_, i) => {
      const random = new Random(2, 'test', i);
      return Float64Array.from({ length: columns }, () => random.normal() / Math.sqrt(columns));
    });
    expect(Math.abs(mean(steps.map((step) => sketched('common', noise, 64, step))))).toBeLessThan(0.002);
    expect(mean(steps.map((step) => sketched('common', rows, 64, step))) / 100).toBeCloseTo(1, 1);
  });

  it('count what is sent: a sketch for each row, and a number more unless only its mean matters', () => {
    expect(sketchedNumbers([{ figure: 'spread', row: 'x', buckets: 16 }])).toBe(17);
    expect(sketchedNumbers([{ figure: 'centre', row: 'd', buckets: 64 }])).toBe(64);
    const both = [
      { figure: 'spread', row: 'd', buckets: 64 } as const,
      { figure: 'common', row: 'd', buckets: 64 } as const,
    ];
    expect(sketchedNumbers([...both, { figure: 'centre', row: 'h', buckets: 64 }])).toBe(129);
  });
});
