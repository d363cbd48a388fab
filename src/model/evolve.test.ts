import { expect, it } from 'vitest';
import { answer, evolve, flow, judge, kernelOf, type Layers, type Pool } from './evolve.ts';

/** 4-3-2 with six samples, whose figures another program computed. */
const grid = (outer: number, inner: number, value: (o: number, i: number) => number) =>
  Float64Array.from({ length: outer * inner }, (_, at) => value(Math.floor(at / inner), at % inner));
const layers: Layers = {
  w1: grid(3, 4, (h, k) => ((5 * h + 3 * k) % 11) / 11 - 0.5),
  b1: grid(3, 1, (h) => ((2 * h) % 5) / 5),
  w2: grid(2, 3, (o, h) => ((7 * o + 4 * h) % 9) / 9 - 0.5),
  b2: grid(2, 1, (o) => ((3 * o) % 7) / 7 - 0.5),
};
const pool: Pool = {
  x: grid(6, 4, (a, k) => ((3 * a + 5 * k) % 7) / 7 - 0.5),
  labels: Int32Array.from({ length: 6 }, (_, a) => a % 2),
};
const rate = 0.1;

it('the kernel in closed form', () => {
  const kernel = kernelOf(layers, pool, answer(layers, pool).hidden);
  expect(kernel[0]).toBeCloseTo(1.974023892, 6);
  expect(kernel[1]).toBeCloseTo(1.751726865, 6);
});

it('the answers along the flow', () => {
  const { hidden, logits } = answer(layers, pool);
  const answers = flow(kernelOf(layers, pool, hidden), logits, pool.labels, rate);
  for (let s = 0; s < 100; s++) answers.next();
  expect(answers.next().value[0]).toBeCloseTo(-0.194537081, 6);
});

it.each([
  [25, 0.601146026],
  [50, 0.546549427],
  [100, 0.459446148],
])('the loss after %d steps', (tau, reached) => {
  const found = evolve(layers, pool, rate, [tau]);
  expect(found.loss).toBeCloseTo(0.664634848, 6);
  expect(found.reached).toBeCloseTo(reached, 6);
});

it('keeps the candidate with the least loss', () => {
  const found = evolve(layers, pool, rate, [50, 100, 25]);
  expect(found.tau).toBe(100);
  expect(found.layers.w1[0]).toBeCloseTo(-0.686603459, 6);
  expect(found.layers.b2[0]).toBeCloseTo(-0.507336593, 6);
  expect(found.layers.b2[1]).toBeCloseTo(-0.064091978, 6);
  // At a rate at which many steps go too far, few are better.
  expect(evolve(layers, pool, 10, [100, 1]).tau).toBe(1);
});

it('one step is a gradient step on the pool', () => {
  const { layers: moved, gradientNorm } = evolve(layers, pool, rate, [1]);
  const names = ['w1', 'b1', 'w2', 'b2'] as const;
  const lossOf = (given: Layers) => judge(answer(given, pool).logits, pool.labels).loss;
  let norm2 = 0;
  for (const name of names)
    layers[name].forEach((value, i) => {
      const at = (by: number) => lossOf({ ...layers, [name]: layers[name].with(i, value + by) });
      const slope = (at(1e-6) - at(-1e-6)) / 2e-6;
      norm2 += slope ** 2;
      expect(moved[name][i]).toBeCloseTo(value - rate * slope, 8);
    });
  expect(gradientNorm).toBeCloseTo(Math.sqrt(norm2), 7);
});
