import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { onednn } from '../../src/onednn/backend.ts';
import type { Numbers } from '../../src/tensor/backend.ts';
import { batchNorm, softmaxCrossEntropy } from '../../src/tensor/operations.ts';
import { f32, i32 } from '../../src/tensor/program.ts';
import { type Tensor, Trace } from '../../src/tensor/trace.ts';
import { noOneDnn } from '../backends.ts';

async function execute(
  trace: Trace,
  outputs: Readonly<Record<string, Tensor>>,
  buffers: Record<string, Numbers>,
): Promise<void> {
  const executable = await onednn.compile(trace.program(outputs));
  await executable.bind(buffers)();
  await executable.close();
}

/** −log softmax(logits)[label]; the largest is left out of the sum, so that a small loss keeps its digits. */
function lossOf(logits: ArrayLike<number>, label: number): number {
  const all = Array.from(logits);
  const top = all.indexOf(Math.max(...all));
  const rest = all.reduce((sum, logit, i) => (i === top ? sum : sum + Math.exp(logit - all[top]!)), 0);
  return all[top]! - all[label]! + Math.log1p(rest);
}

async function losses(logits: Float32Array, labels: Int32Array): Promise<Float32Array> {
  const trace = new Trace();
  const [samples, classes] = [labels.length, logits.length / labels.length];
  const loss = softmaxCrossEntropy(trace.input('x', f32(samples, classes)), trace.input('labels', i32(samples)));
  const out = new Float32Array(samples).fill(Number.NaN);
  await execute(trace, { loss }, { x: logits, labels, loss: out });
  return out;
}

const relative = (given: number, exact: number) => Math.abs(given - exact) / Math.abs(exact);

describe.skipIf(noOneDnn !== undefined)(`precision of oneDNN${noOneDnn ? ` (${noOneDnn})` : ''}`, () => {
  it.each([
    [2, 8],
    [10, 0.1],
    [10, 3],
    [10, 30],
    [1003, 5],
  ])('a loss over %i classes, logits to ±%f: never below 0, within 2e-7 of itself', async (classes, size) => {
    const random = new Random(classes, 'test');
    const samples = 400;
    const logits = Float32Array.from({ length: samples * classes }, () => size * (2 * random.uniform() - 1));
    // Half of them where the loss is smallest.
    const row = (i: number) => logits.subarray(i * classes, (i + 1) * classes);
    const labels = Int32Array.from({ length: samples }, (_, i) =>
      i % 2 === 0 ? random.below(classes) : row(i).indexOf(Math.max(...row(i))),
    );
    const given = await losses(logits, labels);
    expect(Math.min(...given)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...given.map((loss, i) => relative(loss, lossOf(row(i), labels[i]!))))).toBeLessThan(2e-7);
  });

  it('a loss that is certain is 0, one that is infinitely wrong or not a number shows it', async () => {
    const logits = Float32Array.of(500, -500, 0, Number.NEGATIVE_INFINITY, 1, Number.NaN);
    const given = await losses(logits, Int32Array.of(0, 1, 0));
    expect([...given]).toEqual([0, Number.POSITIVE_INFINITY, Number.NaN]);
  });

  // In blocks of channels, with a block that is not full, and without blocks.
  it.each([
    [32, 16, 112, 0.3],
    [32, 20, 14, 0],
    [32, 3, 112, 0],
    [2, 8, 7, 100],
    [200, 10, 1, 1],
  ])('batch norm of %i × %i × %i², mean %f: mean and variance within 2e-7', async (samples, channels, side, mean) => {
    const random = new Random(channels, 'test');
    const pixels = side * side;
    const x = Float32Array.from({ length: samples * channels * pixels }, () => mean + random.normal());
    const trace = new Trace();
    const input = trace.input('x', side === 1 ? f32(samples, channels) : f32(samples, channels, side, side));
    const [scale, shift] = [trace.input('scale', f32(channels)), trace.input('shift', f32(channels))];
    const { y, mean: means, variance } = batchNorm(input, scale, shift, 1e-5);
    const given = { means: new Float32Array(channels), variance: new Float32Array(channels) };
    await execute(
      trace,
      { y, means, variance },
      {
        x,
        scale: new Float32Array(channels),
        shift: new Float32Array(channels),
        y: new Float32Array(x.length),
        ...given,
      },
    );
    for (let channel = 0; channel < channels; channel++) {
      const own = Float64Array.from({ length: samples * pixels }, (_, i) => {
        return x[(Math.floor(i / pixels) * channels + channel) * pixels + (i % pixels)]!;
      });
      const exactMean = own.reduce((sum, value) => sum + value, 0) / own.length;
      const exactVariance = own.reduce((sum, value) => sum + (value - exactMean) ** 2, 0) / own.length;
      // A mean near 0 is as precise as what it is a mean of.
      expect(Math.abs(given.means[channel]! - exactMean)).toBeLessThan(2e-7 * Math.max(1, mean));
      expect(relative(given.variance[channel]!, exactVariance)).toBeLessThan(2e-7);
    }
  });
});
