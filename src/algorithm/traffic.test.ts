import { expect, it } from 'vitest';
import { Random } from '../base/random.ts';
import { apply } from '../topology/mixing.ts';
import { buildTopology } from '../topology/topology.ts';
import { stepOf } from './actions.ts';
import { planOf } from './method.ts';
import { findMethod } from './methods.ts';
import { distanceTraffic, gossipTraffic, meanTraffic, numbersTraffic, trafficOf } from './traffic.ts';

it('gossip sends the row to every neighbour, a mean sends parts of it round a ring', () => {
  expect(gossipTraffic(buildTopology({ kind: 'ring' }, 8, 1).mixing(0), 8, 100)).toEqual({ messages: 2, bytes: 800 });
  expect(gossipTraffic(buildTopology({ kind: 'star' }, 8, 1).mixing(0), 8, 100)).toEqual({
    messages: 1.75,
    bytes: 700,
  });
  expect(meanTraffic(8, 100)).toEqual({ messages: 14, bytes: 700 });
});

it('the distance costs half a mean and two numbers, then one number per gossip', () => {
  expect(distanceTraffic(8, 100, false)).toEqual([
    { messages: 7, bytes: 350 },
    { messages: 3, bytes: 48 },
  ]);
  expect(distanceTraffic(8, 100, true)).toEqual([{ messages: 3, bytes: 24 }]);
  expect(numbersTraffic(12, 1).messages).toBe(4);
  expect(distanceTraffic(1, 100, false).every(({ messages, bytes }) => messages === 0 && bytes === 0)).toBe(true);
});

it('one number is enough because gossip keeps the mean', () => {
  const n = 12;
  const mixing = buildTopology({ kind: 'exponential' }, n, 1).mixing(0);
  const random = new Random(1, 'test');
  let x = Float64Array.from({ length: n }, () => random.normal());
  const mean = x.reduce((sum, value) => sum + value, 0) / n;
  for (let gossips = 0; gossips < 3; gossips++) {
    const next = new Float64Array(n);
    apply(mixing, x, next);
    x = next;
    const direct = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / n;
    expect(x.reduce((sum, value) => sum + value ** 2, 0) / n - mean ** 2).toBeCloseTo(direct, 12);
  }
});

it('a message over an edge of a tree is a row and a number', () => {
  const plan = planOf(findMethod('relaysgd'), {}, { replicas: 8, sets: 3 });
  const step = stepOf(plan, { t: 1, steps: Number.POSITIVE_INFINITY, eta: 1, etaBefore: 1 });
  const sizes = { replicas: 8, degree: 14 / 8, columns: 100, compressedBytes: 0 };
  expect(trafficOf(plan, step, sizes).bytes).toBeCloseTo((14 / 8) * 404, 9);
  expect(trafficOf(plan, step, sizes).messages).toBe(14 / 8);
});

/** Bytes per neighbour and step of a multilayer perceptron with 784, 100 and 10 units. */
function sentByPerceptron(name: string): (t: number) => number {
  let end = 0;
  const tensors = [[100, 784], [100], [10, 100], [10]].map((shape) => {
    const size = shape.reduce((product, length) => product * length, 1);
    end += size;
    return { shape, size, offset: end - size };
  });
  const plan = planOf(findMethod(name), {}, { replicas: 8, sets: 2 });
  const sizes = { replicas: 8, degree: 2, columns: end, tensors, compressedBytes: 0 };
  return (t) =>
    trafficOf(plan, stepOf(plan, { t, steps: Number.POSITIVE_INFINITY, eta: 1, etaBefore: 1 }), sizes).bytes / 2;
}

it('rank 1 of a multilayer perceptron with 784, 100 and 10 units takes 880 and 3,976 bytes in turn', () => {
  expect([0, 1, 2, 3].map(sentByPerceptron('powergossip'))).toEqual([0, 880, 3976, 880]);
});

it('half of its parameters take 4 bytes each and all of them a bit, once per round', () => {
  const [kept, all] = [39_755, 79_510];
  const round = 4 * kept + Math.ceil(all / 8);
  expect([0, 1, 2, 3, 7].map(sentByPerceptron('dispfl'))).toEqual([0, 0, 0, round, round]);
});

it('NTK-DFL: a row, and per sample and class of each neighbour a Jacobian, an answer and a label', () => {
  const plan = planOf(findMethod('ntk-dfl'));
  const step = stepOf(plan, { t: 0, steps: Number.POSITIVE_INFINITY, eta: 1, etaBefore: 1 });
  const columns = 79_510;
  const sizes = { replicas: 8, degree: 1, columns, compressedBytes: 0, answers: { samples: 200, classes: 10 } };
  expect(trafficOf(plan, step, sizes)).toEqual({ bytes: 4 * columns + 200 * (4 * 10 * columns + 8 * 10), messages: 2 });
});

it.each(['ring', 'star'])('each neighbour on a %s gets one message, however many sets its edges are in', (kind) => {
  const degree = kind === 'ring' ? 2 : 1.875;
  const sets = kind === 'ring' ? 2 : 15;
  const plan = planOf(findMethod('powergossip'), {}, { replicas: 16, sets });
  const step = stepOf(plan, { t: 1, steps: Number.POSITIVE_INFINITY, eta: 1, etaBefore: 1 });
  const { messages } = trafficOf(plan, step, { replicas: 16, degree, columns: 100, compressedBytes: 0 });
  expect(messages).toBeCloseTo(degree, 9);
});
