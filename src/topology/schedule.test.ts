import { describe, expect, it } from 'vitest';
import { UserError } from '../base/error.ts';
import { parse } from '../base/schema.ts';
import { adaK, scheduleSchema, topologyAt } from './schedule.ts';
import { buildTopology } from './topology.ts';

const schedule = (given: unknown) => parse(scheduleSchema, given, 'topology');
const ada = (settings: object) => schedule({ kind: 'ada', ...settings });
const epochs = (count: number) => Array.from({ length: count }, (_, epoch) => epoch);

/** The k of every epoch. */
const ks = (given: object, n: number, count: number) =>
  epochs(count).map((epoch) => (topologyAt(ada(given), n, epoch, count) as { k?: number }).k);
const mixingAt = (given: object, n: number, epoch: number, count: number) =>
  buildTopology(topologyAt(ada(given), n, epoch, count), n, 0).mixing(0);

describe('k of Ada', () => {
  it('falls linearly from k0 to kEnd, both included', () => {
    expect(epochs(8).map((e) => adaK({ k0: 32, kEnd: 8, kMin: 2, decay: undefined }, e, 8))).toEqual([
      32, 28, 25, 21, 18, 14, 11, 8,
    ]);
    expect(ks({ k0: 32, kEnd: 8 }, 64, 8)).toEqual([32, 28, 25, 21, 18, 14, 11, 8]);
  });

  it('reaches kEnd in the last epoch whatever the rounding', () => {
    const missed: string[] = [];
    for (let k0 = 2; k0 <= 60; k0++)
      for (let kEnd = 2; kEnd <= k0; kEnd++)
        for (const count of [2, 3, 7, 8, 90, 300]) {
          const k = (epoch: number) => adaK({ k0, kEnd, kMin: 2, decay: undefined }, epoch, count);
          if (k(0) !== k0 || k(count - 1) !== kEnd) missed.push(`${k0}→${kEnd} in ${count}`);
        }
    expect(missed).toEqual([]);
  });

  it('falls by decay each epoch, never below kMin', () => {
    expect(ks({ k0: 6, decay: 1.5 }, 16, 6)).toEqual([6, 4, 3, 2, 2, 2]);
    expect(ks({ k0: 10, decay: 3, kMin: 4 }, 16, 4)).toEqual([10, 7, 4, 4]);
    expect(ks({ k0: 10, decay: 0.02 }, 96, 300).filter((k) => k === 10)).toHaveLength(1);
    expect(ks({ k0: 10, decay: 0.02 }, 96, 300).at(-1)).toBe(4);
    expect(ks({ k0: 112, decay: 1 }, 1008, 90).at(-1)).toBe(23);
    expect(ks({ k0: 5, decay: 0 }, 16, 3)).toEqual([5, 5, 5]);
  });

  it('stays at k0 for a single epoch', () => {
    expect(ks({ k0: 6, kEnd: 2 }, 16, 1)).toEqual([6]);
  });

  it('takes the next smaller k where a lattice of odd size has none', () => {
    expect(ks({ k0: 8, decay: 1 }, 15, 7)).toEqual([8, 6, 6, 4, 4, 2, 2]);
  });

  it('never asks for more neighbours than there are', () => {
    expect(ks({ k0: 100, kEnd: 4 }, 12, 4)).toEqual([11, 11, 11, 4]);
    expect(ks({ k0: 100, kEnd: 4 }, 2, 4)).toEqual([1, 1, 1, 1]);
  });

  it('counts neighbours a side if told so', () => {
    const topology = (epoch: number) =>
      buildTopology(topologyAt(ada({ k0: 10, kEnd: 1, kMin: 1, countPerSide: true }), 12, epoch, 10), 12, 0);
    expect(epochs(10).map((epoch) => topology(epoch).round(0).sources[0]!.length)).toEqual([
      11, 11, 11, 11, 11, 10, 8, 6, 4, 2,
    ]);
  });
});

describe('Ada', () => {
  it.each([2, 3, 12, 13, 64])('with k ≥ n−1 is complete and with k = 2 a ring, to the last bit, n = %i', (n) => {
    const given = { k0: n + 5, kEnd: 2 };
    expect(mixingAt(given, n, 0, 9)).toEqual(buildTopology({ kind: 'complete' }, n, 0).mixing(0));
    expect(mixingAt(given, n, 8, 9)).toEqual(buildTopology({ kind: 'ring' }, n, 0).mixing(0));
  });

  it.each([
    ['exponential', 20, 8, [8, 6, 4, 2]],
    ['base', 20, 8, [8, 6, 4, 2]],
    ['hypercube', 16, 8, [4, 4, 4, 2]],
    ['random-regular', 15, 8, [8, 6, 4, 2]],
    ['equistatic', 15, 7, [6, 4, 2, 2]],
    ['epidemic', 16, 8, [8, 6, 4, 2]],
  ])('runs over the family %s', (family, n, k0, expected) => {
    expect(ks({ family, k0, kEnd: 2 }, n, 4)).toEqual(expected);
    const config = topologyAt(ada({ family, k0, kEnd: 2 }), n, 3, 4);
    expect(buildTopology(config, n, 0)).toMatchObject({ kind: family, k: 2 });
  });

  it('is the trivial topology for one replica', () => {
    for (const family of ['lattice', 'hypercube', 'base']) {
      const topology = buildTopology(topologyAt(ada({ family, k0: 8, kEnd: 2 }), 1, 3, 4), 1, 0);
      expect([...topology.mixing(0).weight]).toEqual([1]);
    }
  });

  it('gives the same configuration while k stands still', () => {
    const given = ada({ k0: 6, decay: 0.25 });
    expect(topologyAt(given, 16, 1, 8)).toEqual(topologyAt(given, 16, 4, 8));
  });
});

describe('other schedules', () => {
  it('keep one topology throughout', () => {
    expect(topologyAt(schedule({ kind: 'ring' }), 8, 5, 9)).toMatchObject({ kind: 'ring' });
    expect(topologyAt(schedule({ kind: 'full' }), 8, 5, 9)).toMatchObject({ kind: 'full' });
  });

  it('change at given epochs', () => {
    const given = schedule({
      kind: 'piecewise',
      phases: [
        { from: 0, topology: { kind: 'complete' } },
        { from: 3, topology: { kind: 'lattice', k: 4 } },
        { from: 5, topology: { kind: 'ring' } },
      ],
    });
    expect(epochs(7).map((epoch) => topologyAt(given, 16, epoch, 7).kind)).toEqual([
      'complete',
      'complete',
      'complete',
      'lattice',
      'lattice',
      'ring',
      'ring',
    ]);
  });
});

describe('a bad schedule', () => {
  const phase = (from: unknown, topology: unknown = { kind: 'ring' }) => ({ from, topology });
  it.each([
    [{ kind: 'rnig' }, 'topology: kind: "rnig" is not a known kind; did you mean "ring"?'],
    [{ kind: 'ada', k0: 8 }, 'topology: give either decay or kEnd'],
    [{ kind: 'ada', k0: 8, decay: 1, kEnd: 2 }, 'topology: give either decay or kEnd'],
    [{ kind: 'ada', kEnd: 2 }, 'topology: k0: is missing; it must be a whole number from 1'],
    [{ kind: 'ada', k0: 8, kEnd: 9 }, 'topology: kEnd must be at most k0'],
    [{ kind: 'ada', k0: 8, kEnd: 1 }, 'topology: k0 and kEnd must be at least kMin, which is 2 unless set'],
    [{ kind: 'ada', k0: 8.5, kEnd: 2 }, 'topology: k0: must be a whole number from 1, got 8.5'],
    [{ kind: 'ada', k0: 8, decay: -1 }, 'topology: decay: must be a number from 0, got -1'],
    [{ kind: 'ada', k0: 8, decay: Number.NaN }, 'topology: decay: must be a number from 0, got NaN'],
    [{ kind: 'ada', k0: 8, kEnd: 2, family: 'ring' }, 'topology: family: must be one of: lattice, exponential'],
    [{ kind: 'ada', k0: 8, kEnd: 2, familly: 'base' }, 'topology: unknown setting "familly"; did you mean "family"?'],
    [
      { kind: 'ada', k0: 8, kEnd: 2, family: 'base', countPerSide: true },
      'topology: countPerSide is for the lattice family',
    ],
    [
      { kind: 'piecewise', phases: [] },
      'topology: phases: must be a list of a group of settings, at least one, got []',
    ],
    [{ kind: 'piecewise', phases: [phase(1)] }, 'topology: the first phase must be from epoch 0'],
    [{ kind: 'piecewise', phases: [phase(0), phase(3), phase(3)] }, 'topology: phases must begin in ascending epochs'],
    [
      { kind: 'piecewise', phases: [phase(0, { kind: 'lattice', k: 'x' })] },
      'topology: phases[0].topology.k: must be a whole number from 1, got "x"',
    ],
    [{}, 'topology: kind: '],
    [null, 'topology: '],
  ])('%j', (given, message) => {
    let thrown: unknown;
    try {
      schedule(given);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(UserError);
    expect((thrown as UserError).message.slice(0, message.length)).toBe(message);
  });

  it('that fits no n says which n it needs', () => {
    expect(() => topologyAt(ada({ family: 'hypercube', k0: 8, kEnd: 2 }), 12, 0, 4)).toThrow(
      'hypercube(n=12): n must be a power of two',
    );
  });
});
