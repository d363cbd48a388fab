import { expect, it } from 'vitest';
import { meanState } from './loop.ts';

/** A transport of one rank that owns all replicas. */
const alone = (...present: readonly number[]) => ({
  present,
  gather: (own: Float64Array) => own.slice(),
});

it('the state of the merged model is the mean over the replicas that are there, column by column', () => {
  const rows = [1, 2, 6].map((factor) => Float32Array.from({ length: 150 }, (_, column) => factor * column));
  expect(meanState(rows, alone(0, 1, 2))).toEqual(Float32Array.from({ length: 150 }, (_, column) => 3 * column));
  expect(meanState(rows, alone(0, 2))).toEqual(Float32Array.from({ length: 150 }, (_, column) => 3.5 * column));
  expect(meanState([], alone(0, 1, 2))).toBeUndefined();
});
