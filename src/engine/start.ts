import type { Start } from '../algorithm/method.ts';
import { Random } from '../base/random.ts';
import { initialise, type Layout, rowSize } from '../model/layout.ts';

/** What rows are before the first step, the same on every replica. */
export function startRows(layout: Layout, seed: number): Readonly<Record<Start, Float32Array>> {
  const columns = rowSize(layout);
  const random = new Random(seed, 'start');
  return {
    x: initialise(layout, seed),
    zero: new Float32Array(columns),
    random: Float32Array.from({ length: columns }, () => random.normal()),
  };
}
