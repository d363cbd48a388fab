import type { PairCourse } from '../network/queue.ts';
import type { Problem } from './reference.ts';

/** Asynchronous pairs on float64 arrays: by the clock alone, without queue, waves or rows that are shared. The oracle of both. */

type Row = Float64Array;

interface Replica {
  x: Row;
  /** Until when it exchanges. */
  free: number;
  /** The gradient that it computes: where it began, and when it is there. */
  computing: { readonly step: number; readonly at: Row; readonly end: number } | undefined;
  /** Gradients that are there, with the exchange after which they are applied. */
  exchanging: { readonly step: number; readonly gradient: Row; readonly partner: Replica; readonly end: number }[];
}

/** What the replicas have after so many exchanges; `seen` is told after each. */
export function interpretPairs(
  problem: Problem,
  { compute, partner, exchangeNs, overlap }: PairCourse,
  exchanges: number,
  seen?: (exchange: number, model: readonly Row[]) => void,
): readonly Row[] {
  const replicas = Array.from({ length: problem.n }, (_, i): Replica => {
    const computing = { step: 0, at: problem.start, end: compute(i, 0) };
    return { x: problem.start, free: 0, computing, exchanging: [] };
  });

  function begin(i: number, step: number, now: number): void {
    replicas[i]!.computing = { step, at: replicas[i]!.x, end: now + compute(i, step) };
  }

  function meet(i: number, now: number): void {
    const self = replicas[i]!;
    const { step, at } = self.computing!;
    const j = partner(i, step);
    const other = replicas[j]!;
    self.free = other.free = Math.max(now, self.free, other.free) + exchangeNs(i, j);
    self.computing = undefined;
    self.exchanging.push({ step, gradient: problem.gradient(i, at, step), partner: other, end: self.free });
    if (overlap && self.exchanging.length === 1) begin(i, step + 1, now);
  }

  function apply(i: number, now: number): void {
    const self = replicas[i]!;
    const { step, gradient, partner } = self.exchanging.shift()!;
    const mean = self.x.map((v, c) => (v + partner.x[c]!) / 2);
    const direction = problem.direction?.(i, gradient, mean, step) ?? gradient;
    partner.x = mean;
    self.x = mean.map((v, c) => v - problem.rate(step) * direction[c]!);
    // With overlap it may have computed the next one already, and waited.
    if (self.computing === undefined) begin(i, step + (overlap ? 2 : 1), now);
  }

  for (let done = 0; done < exchanges; ) {
    const now = Math.min(
      ...replicas.flatMap(({ computing, exchanging }) => [
        computing?.end ?? Number.POSITIVE_INFINITY,
        exchanging[0]?.end ?? Number.POSITIVE_INFINITY,
      ]),
    );
    const i = replicas.findIndex(({ computing, exchanging }) => computing?.end === now || exchanging[0]?.end === now);
    if (replicas[i]!.exchanging[0]?.end === now) {
      apply(i, now);
      done += 1;
      seen?.(
        done,
        replicas.map(({ x }) => x),
      );
    } else meet(i, now);
  }
  return replicas.map(({ x }) => x);
}
