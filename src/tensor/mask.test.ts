import { expect, it } from 'vitest';
import { Random } from '../base/random.ts';
import { dropoutMask } from './mask.ts';

const key = (step: number, replica = 0) => {
  const random = new Random(5, 'dropout', replica, step);
  return Int32Array.of(random.uint32() | 0, random.uint32() | 0);
};

const size = 4096;
const mask = (step: number, salt = 0, rate = 0.5, replica = 0) => dropoutMask(key(step, replica), salt, rate, size);

/** Correlation of two masks; about ±1/√size by chance. */
function correlation(a: Float64Array, b: Float64Array): number {
  return a.reduce((sum, value, i) => sum + (value - 1) * (b[i]! - 1), 0) / a.length;
}

it.each([0.1, 0.4, 0.5, 0.9])('drops a fraction of %s and keeps the mean', (rate) => {
  let [dropped, total] = [0, 0];
  for (let step = 0; step < 50; step++)
    for (const factor of mask(step, 0, rate)) {
      dropped += factor === 0 ? 1 : 0;
      total += factor;
    }
  expect(dropped / (50 * size)).toBeCloseTo(rate, 2);
  expect(total / (50 * size)).toBeCloseTo(1, 1);
});

it('is another mask for another step, replica, or place in the program', () => {
  const masks = [mask(0), mask(1), mask(2), mask(0, 1), mask(0, 2), mask(1, 1), mask(0, 0, 0.5, 1)];
  masks.forEach((a, i) => {
    masks.slice(i + 1).forEach((b) => {
      expect(Math.abs(correlation(a, b))).toBeLessThan(5 / Math.sqrt(size));
    });
  });
});

it('shows no dependence between neighbouring elements, nor of an element on itself over steps', () => {
  const first = mask(3);
  for (const shift of [1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 1024])
    expect(Math.abs(correlation(first.subarray(shift), first.subarray(0, -shift)))).toBeLessThan(
      5 / Math.sqrt(size - shift),
    );
  const kept = new Float64Array(size);
  for (let step = 0; step < 400; step++)
    mask(step).forEach((factor, i) => {
      kept[i]! += factor / 2;
    });
  // Binomial(400, ½): mean 200, deviation 10.
  const [low, high] = [Math.min(...kept), Math.max(...kept)];
  expect(low).toBeGreaterThan(150);
  expect(high).toBeLessThan(250);
  const variance = kept.reduce((sum, count) => sum + (count - 200) ** 2, 0) / size;
  expect(variance).toBeGreaterThan(90);
  expect(variance).toBeLessThan(110);
});

it('is the mask it always was: results with a seed depend on it', () => {
  const bits = (salt: number) =>
    [...dropoutMask(Int32Array.of(123456789, -987654321), salt, 0.5, 32)].map((f) => f / 2).join('');
  expect([bits(0), bits(1)]).toEqual(['00000111101101000111011001000101', '10101011001011111010111001111111']);
});
