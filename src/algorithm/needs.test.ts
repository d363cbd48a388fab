import { expect, it } from 'vitest';
import { buildTopology } from '../topology/topology.ts';
import { unmetNeed } from './needs.ts';

const topology = (kind: string, n = 8, rest = {}) => buildTopology({ kind, ...rest }, n, 1);

it('weights and rounds are held against what a method needs', () => {
  expect(unmetNeed(['doubly', 'symmetric', 'static'], topology('ring'))).toBeUndefined();
  expect(unmetNeed(['symmetric'], topology('exponential'))?.problem).toBe(
    'needs symmetric weights, which exponential with 8 replicas does not have',
  );
  expect(unmetNeed(['doubly'], topology('exponential'))).toBeUndefined();
  expect(unmetNeed(['static'], topology('one-peer-exponential'))?.problem).toMatch(/the same in every step/);
});

it('D² needs eigenvalues above −1/3', () => {
  // An even ring has −1/3 exactly; pairs that average have 0; a star with n = 9 has large negative ones only with weights that allow it.
  expect(unmetNeed(['above -1/3'], topology('ring', 8))).toBeUndefined();
  expect(unmetNeed(['above -1/3'], topology('hypercube', 8))?.problem).toMatch(/eigenvalue/);
  expect(unmetNeed(['above -1/3'], topology('hypercube', 8, { weights: 'lazy' }))).toBeUndefined();
});

it('columns that sum to 1 have each replica divide itself among those who hear it', () => {
  const { n, start, source, weight } = topology('star', 5).push(0);
  const sums = new Float64Array(n);
  for (let e = 0; e < start[n]!; e++) sums[source[e]!]! += weight[e]!;
  for (const sum of sums) expect(sum).toBeCloseTo(1, 12);
  expect([...weight.subarray(start[0], start[1])]).toEqual([1 / 5, 1 / 2, 1 / 2, 1 / 2, 1 / 2]);
});
