import { expect, it } from 'vitest';
import { buildNetwork } from '../network/network.ts';
import { Timetable } from '../network/timetable.ts';
import { circulant } from '../topology/kind.ts';
import { stepOf } from './actions.ts';
import { type Method, planOf } from './method.ts';
import { findMethod, methods } from './methods.ts';
import { patternOf } from './pattern.ts';
import { trafficOf } from './traffic.ts';

const [n, columns, compressedBytes] = [8, 1000, 160];
const { sources } = circulant(n, [1, -1]);

const settingsOf = ({ settings }: Method) => (settings.period === undefined ? {} : { period: 2 });

// In pairs there are no steps of all together.
const together = methods.filter((method) => planOf(method).asynchronous === undefined);

it.each(together.map(({ name }) => name))('%s: as many bytes and messages on the links as it counts', (name) => {
  const method = findMethod(name);
  const plan = planOf(method, settingsOf(method), { replicas: n, sets: 2 });
  for (let t = 0; t < 4; t++) {
    const step = stepOf(plan, { t, steps: 4, eta: 1, etaBefore: 1 });
    const pattern = patternOf(plan, step, { columns, compressedBytes });
    let [bytes, messages] = [0, 0];
    const network = buildNetwork({ kind: 'uniform', latency: '1us', rate: '1GB/s' }, n);
    const timetable = new Timetable(network, () => 1000, {
      exchange(each) {
        bytes += each.bytes * each.from.length;
        messages += each.from.length;
      },
      mean(_, __, size, numbers) {
        // Rows go around a ring, a few numbers by doubling.
        const [share, sent] = numbers ? [Math.log2(n), Math.log2(n)] : [(2 * (n - 1)) / n, 2 * (n - 1)];
        bytes += n * share * size;
        messages += n * sent;
      },
    });
    timetable.step(t, pattern, () => sources);
    const expected = trafficOf(plan, step, { replicas: n, degree: 2, columns, compressedBytes });
    expect({ bytes: bytes / n, messages: messages / n }).toEqual({
      bytes: expect.closeTo(expected.bytes, 6),
      messages: expect.closeTo(expected.messages, 6),
    });
  }
});

/** Microseconds of one step on a ring with latency 1, messages of 10 and compute 100. */
function stepUs(name: string, settings: object = {}, step = 0): number {
  const plan = planOf(findMethod(name), { ...settings });
  const pattern = patternOf(plan, stepOf(plan, { t: step, steps: Number.POSITIVE_INFINITY, eta: 1, etaBefore: 1 }), {
    columns: 2500,
    compressedBytes: 1000,
  });
  const network = buildNetwork(
    { kind: 'uniform', latency: '1us', rate: '1GB/s', sharing: 'none', collective: 'tree' },
    n,
  );
  const timetable = new Timetable(network, () => 100_000);
  timetable.step(step, pattern, () => sources);
  return timetable.state.finished[0]! / 1000;
}

it('what the data allow overlaps, and nothing else', () => {
  expect(stepUs('dpsgd')).toBe(111);
  expect(stepUs('dpsgd', { order: 'combine-then-adapt' })).toBe(111);
  expect(stepUs('dpsgd', { order: 'adapt-while-communicating' })).toBe(100);
  expect(stepUs('dpsgd', { localSteps: 2 })).toBe(100);
  expect(stepUs('dpsgd', { localSteps: 2 }, 1)).toBe(111);
  // y is averaged while the gradient is computed, x after it.
  expect(stepUs('dsgt')).toBe(111);
  // Two gradients, one after the other.
  expect(stepUs('dfedsam')).toBe(200);
  // Compressed messages, a tenth of the size.
  expect(stepUs('choco')).toBe(102);
  expect(stepUs('centralized')).toBe(100 + 2 * 3 * 11);
  expect(stepUs('local-sgd', { period: 2 })).toBe(100);
});
