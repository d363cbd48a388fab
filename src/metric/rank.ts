import { ranks } from '../base/statistics.ts';

/** Gini coefficients of one run: row by row the probed steps, one column per tensor. */
export interface GiniTable {
  readonly step: Float64Array;
  readonly gini: Float64Array;
}

/** Mean ranks of m implementations by Gini, 1 the least; NaN if no step was ranked. */
export interface VarianceRank {
  /** Epochs with ranked steps, counted from 1. */
  readonly epoch: readonly number[];
  /** byEpoch[implementation][epoch] */
  readonly byEpoch: readonly (readonly number[])[];
  /** Steps of the first fifth, of the rest, and all; a figure per implementation. */
  readonly early: readonly number[];
  readonly late: readonly number[];
  readonly all: readonly number[];
  /** byTensor[implementation][tensor] */
  readonly byTensor: readonly (readonly number[])[];
}

export const earlyShare = 0.2;

export const isEarly = (step: number, steps: number): boolean => step < earlyShare * steps;

/**
 * Ranks the implementations by Gini at every step and tensor that was measured in all of them, ties sharing their mean rank, and
 * takes the mean. `seeds` holds for every seed one table per implementation: ranks are taken within a seed, means over all seeds.
 */
export function rankVariance(
  seeds: readonly (readonly GiniTable[])[],
  tensors: number,
  steps: number,
  stepsPerEpoch: number,
): VarianceRank {
  const count = seeds[0]!.length;
  const means = () => new Means(count);
  const [early, late, all] = [means(), means(), means()];
  const byTensor = Array.from({ length: tensors }, means);
  const byEpoch: Means[] = [];
  for (const tables of seeds)
    for (const rows of commonRows(tables)) {
      const step = tables[0]!.step[rows[0]!]!;
      const parts = [all, isEarly(step, steps) ? early : late, (byEpoch[Math.floor(step / stepsPerEpoch)] ??= means())];
      for (let tensor = 0; tensor < tensors; tensor++) {
        const ginis = rows.map((row, i) => tables[i]!.gini[row * tensors + tensor]!);
        if (ginis.some(Number.isNaN)) continue;
        const found = ranks(ginis);
        for (const part of parts) part.add(found);
        byTensor[tensor]!.add(found);
      }
    }
  const epochs = Object.keys(byEpoch).map(Number);
  const each = <T>(of: (i: number) => T) => Array.from({ length: count }, (_, i) => of(i));
  return {
    epoch: epochs.map((epoch) => epoch + 1),
    byEpoch: each((i) => epochs.map((epoch) => byEpoch[epoch]!.of(i))),
    early: each((i) => early.of(i)),
    late: each((i) => late.of(i)),
    all: each((i) => all.of(i)),
    byTensor: each((i) => byTensor.map((tensor) => tensor.of(i))),
  };
}

/** The rows of each table for every step that all of them have. */
function commonRows(tables: readonly GiniTable[]): number[][] {
  const places = tables.map(({ step }) => new Map(Array.from(step, (value, row) => [value, row])));
  return Array.from(tables[0]!.step, (step) => places.flatMap((place) => place.get(step) ?? [])).filter(
    (rows) => rows.length === tables.length,
  );
}

/** Running means of a few figures that come together. */
class Means {
  readonly #sums: Float64Array;
  #count = 0;

  constructor(length: number) {
    this.#sums = new Float64Array(length);
  }

  add(values: Float64Array): void {
    for (let i = 0; i < values.length; i++) this.#sums[i]! += values[i]!;
    this.#count += 1;
  }

  of(index: number): number {
    return this.#sums[index]! / this.#count;
  }
}
