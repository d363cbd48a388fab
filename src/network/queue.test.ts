import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Heap } from './heap.ts';
import { buildNetwork } from './network.ts';
import {
  type Exchange,
  exchangeTimes,
  isQueueState,
  type PairCourse,
  PairQueue,
  type PairTask,
  steadyPairs,
} from './queue.ts';

const exchangesIn = (tasks: readonly PairTask[]) => tasks.filter((task): task is Exchange => task.do === 'exchange');

/** Replica i computes c[i] and averages with the next one. */
const course = (c: readonly number[], tau: number, overlap = false): PairCourse => ({
  n: c.length,
  compute: (i) => c[i]!,
  partner: (i) => (i + 1) % c.length,
  exchangeNs: () => tau,
  overlap,
});

describe('asynchronous pairs', () => {
  it('compute 3, 4, 5, exchange 1 with the next one: the known sequence', () => {
    const ends = exchangesIn(new PairQueue(course([3, 4, 5], 1)).take(9)).map(
      ({ time, replica, partner }) => [time, replica, partner] as const,
    );
    expect(ends).toEqual([
      [4, 0, 1],
      [5, 1, 2],
      [6, 2, 0],
      [8, 0, 1],
      [10, 1, 2],
      [12, 0, 1],
      [13, 2, 0],
      [15, 1, 2],
      [16, 0, 1],
    ]);
  });

  it('one of 16 ten times slower, a free network: 15.1 steps a unit of time, not 1.6', () => {
    const seconds = 1000;
    const c = Array.from({ length: 16 }, (_, i) => (i === 5 ? 10 : 1));
    const ended = exchangesIn(new PairQueue(course(c, 0)).take(16_000)).filter(({ time }) => time <= seconds);
    expect(ended.length / seconds).toBeCloseTo(15.1, 10);
    expect(c.length / Math.max(...c)).toBe(1.6);
  });

  it('in the long run a step takes n exchanges, and slow devices hold nobody up', () => {
    const c = Array.from({ length: 16 }, (_, i) => (i === 5 ? 1000 : 100));
    const { stepNs, waiting } = steadyPairs(course(c, 0));
    expect(stepNs / (100 / (15.1 / 16))).toBeCloseTo(1, 2);
    expect(Math.max(...waiting)).toBeLessThan(0.01);
  });

  it('with overlap a replica computes without a break, as long as its exchanges keep up', () => {
    const alone = { ...course([10, 1000], 4, true), partner: (i: number) => 1 - i };
    const computed = exchangesIn(new PairQueue(alone).take(6)).filter(({ replica }) => replica === 0);
    expect(computed.map((each) => each.computed)).toEqual([10, 20, 30, 40, 50, 60]);
    expect(computed.map((each) => each.time)).toEqual([14, 24, 34, 44, 54, 64]);
    // Each gradient began before the one before it was applied.
    expect(computed.map((each) => each.staleness)).toEqual([0, 1, 1, 1, 1, 1]);
    const slow = { ...alone, exchangeNs: () => 25 };
    const waiting = exchangesIn(new PairQueue(slow).take(5)).map((each) => [each.computed, each.from, each.time]);
    expect(waiting).toEqual([
      [10, 10, 35],
      [20, 35, 60],
      [45, 60, 85],
      [70, 85, 110],
      [95, 110, 135],
    ]);
  });

  it('an exchange takes the longer of both ways', () => {
    const links = {
      latencies: {
        unit: 'ms',
        values: [
          [0, 3],
          [1, 0],
        ],
      },
      rates: {
        unit: 'kB/s',
        values: [
          [0, 100],
          [50, 0],
        ],
      },
    };
    const times = exchangeTimes(buildNetwork({ kind: 'matrix', ...links }, 2), 1000);
    expect([times(0, 1), times(1, 0)]).toEqual([21e6, 21e6]);
  });

  it('refuses times that are not exact any more', () => {
    expect(() => new PairQueue(course([1, 1], 2 ** 53)).take(1)).toThrow(/104 days/);
  });
});

/** Any compute times, exchange times and partners, drawn by a hash of their place. */
const anyCourse = fc
  .record({
    n: fc.integer({ min: 2, max: 7 }),
    salt: fc.nat(1e6),
    most: fc.integer({ min: 1, max: 20 }),
    overlap: fc.boolean(),
  })
  .map(({ n, salt, most, overlap }): PairCourse => {
    const drawn = (a: number, b: number, below: number) =>
      Math.floor(((Math.imul(a + 1, 2654435761) ^ Math.imul(b + 7 + salt, 40503)) >>> 0) % 9973) % below;
    return {
      n,
      overlap,
      compute: (i, k) => 1 + drawn(i, k, most),
      partner: (i, k) => (i + 1 + drawn(i, k + 1000, n - 1)) % n,
      exchangeNs: (i, j) => drawn(i * j, i + j, most),
    };
  });
const many = { numRuns: 1000 };

describe('of any queue', () => {
  it('nobody is in two exchanges at once, ends come in order, and nothing is applied before it is computed', () => {
    fc.assert(
      fc.property(anyCourse, (given) => {
        const free = new Float64Array(given.n);
        const begun = new Map<string, number>(Array.from({ length: given.n }, (_, i) => [`${i} 0`, 0]));
        let last = 0;
        const wrong = new PairQueue(given).take(60).filter((task) => {
          const early = task.time < last;
          last = task.time;
          if (task.do === 'begin') {
            begun.set(`${task.replica} ${task.step}`, task.time);
            return early;
          }
          const { replica, partner, step, computed, from, time } = task;
          const taken = Math.max(computed, free[replica]!, free[partner]!);
          if (time > from) free[replica] = free[partner] = time;
          const since = begun.get(`${replica} ${step}`)!;
          const right = computed === since + given.compute(replica, step) && from >= taken;
          return early || !right || time - from !== given.exchangeNs(replica, partner);
        });
        expect(wrong).toEqual([]);
      }),
      many,
    );
  });

  it('continues from its state as if it had never stopped', () => {
    fc.assert(
      fc.property(anyCourse, fc.integer({ min: 1, max: 20 }), (given, before) => {
        const [straight, stopped, resumed] = [0, 1, 2].map(() => new PairQueue(given)) as [
          PairQueue,
          PairQueue,
          PairQueue,
        ];
        const whole = [...straight.take(before), ...straight.take(20)];
        const part = stopped.take(before);
        const state: unknown = JSON.parse(JSON.stringify(stopped.state));
        if (!isQueueState(state, given.n)) throw new Error('not a state');
        resumed.state = state;
        expect([...part, ...resumed.take(20)]).toEqual(whole);
      }),
      many,
    );
  });

  it('a damaged state is none', () => {
    const { state } = new PairQueue(course([3, 4, 5], 1));
    expect(isQueueState(state, 3)).toBe(true);
    for (const key of Object.keys(state)) {
      expect(isQueueState({ ...state, [key]: undefined }, 3)).toBe(false);
      expect(isQueueState({ ...state, [key]: [0.5, 1, 2] }, 3)).toBe(false);
    }
    expect([isQueueState(state, 4), isQueueState(null, 3), isQueueState('queue', 3)]).toEqual([false, false, false]);
  });

  it('times × 3 are three times as long', () => {
    fc.assert(
      fc.property(anyCourse, (given) => {
        const slow: PairCourse = {
          ...given,
          compute: (i, k) => 3 * given.compute(i, k),
          exchangeNs: (i, j) => 3 * given.exchangeNs(i, j),
        };
        const times = (each: PairCourse) => new PairQueue(each).take(40).map(({ time }) => time);
        expect(times(slow)).toEqual(times(given).map((time) => 3 * time));
      }),
      many,
    );
  });

  it('an exchange keeps the sum of all parameters', () => {
    fc.assert(
      fc.property(anyCourse, (given) => {
        const x = Float64Array.from({ length: given.n }, (_, i) => i ** 2);
        const sum = () => x.reduce((total, value) => total + value, 0);
        const wanted = sum();
        for (const { replica, partner } of exchangesIn(new PairQueue(given).take(60)))
          x[replica] = x[partner] = (x[replica]! + x[partner]!) / 2;
        expect(Math.abs(sum() - wanted)).toBeLessThan(1e-12 * wanted);
      }),
      many,
    );
  });
});

it('a heap gives out its items in order', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer()), (items) => {
      const heap = new Heap<number>((a, b) => a < b);
      heap.items = items;
      const sorted = items.toSorted((a, b) => a - b);
      expect(heap.items).toEqual(sorted);
      expect(items.map(() => heap.pop())).toEqual(sorted);
    }),
    many,
  );
});
