import { expect, it } from 'vitest';
import { aboutData } from './export.ts';

it('says how arrays were normalised', () => {
  const samples = { count: 1, features: Float32Array.of(0, 0), labels: Int32Array.of(0), shape: [2] };
  const normalisation = { mean: [100, 7], deviation: [2, 1] };
  const rest = { task: 'classification', name: 'numpy', shape: [2], classes: 2 } as const;
  expect(aboutData({ ...rest, normalisation, train: samples, test: samples })).toEqual({ features: normalisation });
});
