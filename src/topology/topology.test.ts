import { describe, expect, it } from 'vitest';
import { UserError } from '../base/error.ts';
import { kinds } from './kinds.ts';
import { buildTopology, findKind } from './topology.ts';

function refusal(
  given: { kind: string; [setting: string]: unknown },
  n: number,
  seed = 0,
): { message: string; hint: string | undefined } {
  try {
    buildTopology(given, n, seed);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { message: error.message, hint: error.hint };
  }
  throw new Error('was accepted');
}

describe('bad input', () => {
  const inAll = 'for all-to-all use "complete"';
  it.each([
    [{ kind: 'ring' }, 0, 'the number of replicas n must be a whole number from 1 to 20000, got 0', undefined],
    [{ kind: 'ring' }, -4, 'the number of replicas n must be a whole number from 1 to 20000, got -4', undefined],
    [{ kind: 'ring' }, 2.5, 'the number of replicas n must be a whole number from 1 to 20000, got 2.5', undefined],
    [
      { kind: 'ring' },
      Number.NaN,
      'the number of replicas n must be a whole number from 1 to 20000, got NaN',
      undefined,
    ],
    [{ kind: 'ring' }, 1e9, 'n = 1000000000 is more than 20000, the most replicas a topology can have', undefined],
    [
      { kind: 'lattice', k: 19_998 },
      20000,
      '20000 replicas with 19998 neighbours each are more edges than fit in memory',
      'keep n·k at most 50000000',
    ],
    [{ kind: 'lattice', k: 9 }, 8, 'lattice(n=8, k=9): k must be at most n−1 = 7', inAll],
    [
      { kind: 'lattice', k: 1 },
      8,
      'lattice(n=8, k=1): k must be at least 2, otherwise the replicas are not connected',
      'use k = 2; "base" works with one neighbour per step',
    ],
    [{ kind: 'lattice', k: 0 }, 8, 'lattice: k: must be a whole number from 1, got 0', undefined],
    [{ kind: 'lattice', k: 2.5 }, 8, 'lattice: k: must be a whole number from 1, got 2.5', undefined],
    [{ kind: 'lattice', k: Number.NaN }, 8, 'lattice: k: must be a whole number from 1, got NaN', undefined],
    [{ kind: 'lattice', k: '4' }, 8, 'lattice: k: must be a whole number from 1, got "4"', undefined],
    [{ kind: 'lattice', k: null }, 8, 'lattice: k: must be a whole number from 1, got null', undefined],
    [{ kind: 'lattice', k: 3 }, 9, 'lattice(n=9, k=3): an odd k needs an antipode, so an even n', 'use k = 2 or k = 4'],
    [
      { kind: 'lattice', k: 5, countPerSide: true },
      9,
      'lattice(n=9, k=5, countPerSide=true): k per side must be at most ⌊n/2⌋ = 4',
      inAll,
    ],
    [{ kind: 'lattice', countPerSide: 'yes' }, 9, 'lattice: countPerSide: must be true or false, got "yes"', undefined],
    [{ kind: 'exponential', k: 8 }, 8, 'exponential(n=8, k=8): k must be at most n−1 = 7', inAll],
    [{ kind: 'base', k: 8 }, 8, 'base(n=8, k=8): k must be at most n−1 = 7', inAll],
    [
      { kind: 'random-regular', k: 3 },
      9,
      'random-regular(n=9, k=3): n·k counts every edge twice, so it must be even',
      'use k = 2 or k = 4',
    ],
    [{ kind: 'small-world', p: 1.5 }, 9, 'small-world: p: must be a number from 0 to 1, got 1.5', undefined],
    [{ kind: 'epidemic', k: 9 }, 9, 'epidemic(n=9, k=9): k must be at most n−1 = 8', inAll],
    [
      { kind: 'epidemic', variant: 'orcale' },
      9,
      'epidemic: variant: must be one of: oracle, local, got "orcale"; did you mean "oracle"?',
      undefined,
    ],
    [
      { kind: 'equistatic', k: 3 },
      9,
      'equistatic(n=9, k=3): undirected shifts come in pairs, so an odd k needs an even n',
      'use k = 2 or k = 4',
    ],
    [{ kind: 'equidyn', eta: 0 }, 9, 'equidyn: eta: must be a number above 0 and at most 1, got 0', undefined],
    [
      { kind: 'hypercube' },
      12,
      'hypercube(n=12): n must be a power of two',
      'use n = 8 or 16; "base" exists for every n',
    ],
    [
      { kind: 'hypercube', k: 5 },
      16,
      'hypercube(n=16, k=5): k must be at most log2 n = 4',
      'leave it out for the static hypercube',
    ],
    [
      { kind: 'torus' },
      7,
      'torus(n=7): n is prime, so there is no grid a×b with both sides at least 2',
      'use n = 6 or 8, or "ring"',
    ],
    [
      { kind: 'torus' },
      2,
      'torus(n=2): n is prime, so there is no grid a×b with both sides at least 2',
      'use n = 4, or "ring"',
    ],
    [
      { kind: 'torus', rows: 5 },
      12,
      'torus(n=12, rows=5): rows must divide n and leave at least 2 columns',
      'leave it out for 3×4',
    ],
    [
      { kind: 'torus', rows: 12 },
      12,
      'torus(n=12, rows=12): rows must divide n and leave at least 2 columns',
      'leave it out for 3×4',
    ],
    [
      { kind: 'erdos-renyi', p: 0.001 },
      40,
      'erdos-renyi(n=40, p=0.001): not connected in 200 draws',
      'take p above ln n / n = 0.092',
    ],
    // Without a single draw: each would take 200 million random numbers.
    [
      { kind: 'erdos-renyi', p: 0.0001 },
      20_000,
      'erdos-renyi(n=20000, p=0.0001): about 2707 replicas would have no neighbour',
      'take p above ln n / n = 0.00050',
    ],
    [{ kind: 'erdos-renyi', p: -1 }, 40, 'erdos-renyi: p: must be a number above 0 and at most 1, got -1', undefined],
    [{ kind: 'ring', k: 2 }, 8, 'ring: unknown setting "k"; use one of: kind, weights', undefined],
    [{ kind: 'lattice', kk: 2 }, 8, 'lattice: unknown setting "kk"; did you mean "k"?', undefined],
    [
      { kind: 'lattice', countPerSides: true, K: 2 },
      8,
      'lattice: unknown setting "countPerSides"; did you mean "countPerSide"?; unknown setting "K"; did you mean "k"?',
      undefined,
    ],
    [
      { kind: 'ring', weights: 'metropolls' },
      8,
      'ring: weights: must be one of: uniform, metropolis, best-constant, lazy, got "metropolls"; did you mean "metropolis"?',
      undefined,
    ],
    [{ kind: 'file' }, 8, 'file: path: is missing; it must be text', undefined],
    [{ kind: 'file', path: 5 }, 8, 'file: path: must be text, got 5', undefined],
    [{ kind: 'rnig' }, 8, 'unknown topology "rnig"', 'did you mean "ring"?'],
    [{ kind: 'watts-strogaz' }, 8, 'unknown topology "watts-strogaz"', 'did you mean "watts-strogatz"?'],
    [{ kind: 'xyzzy' }, 8, 'unknown topology "xyzzy"', `use one of: ${kinds.map((kind) => kind.name).join(', ')}`],
  ])('%j with n = %d', (given, n, message, hint) => {
    expect(refusal(given, n)).toEqual({ message, hint });
  });

  it('reports all problems at once', () => {
    expect(refusal({ kind: 'epidemic', k: 0, variant: 3 }, 8).message.split('\n')).toEqual([
      'epidemic: 2 problems',
      '  - k: must be a whole number from 1, got 0',
      '  - variant: must be one of: oracle, local, got 3',
    ]);
  });

  it.each([-1, 0.5, Number.NaN, 2 ** 53])('seed %d', (seed) => {
    expect(refusal({ kind: 'ring' }, 8, seed).message).toBe(
      `the seed must be a whole number from 0 to 9007199254740991, got ${seed}`,
    );
  });
});

describe('names', () => {
  it('and aliases are unique', () => {
    const names = kinds.flatMap((kind) => [kind.name, ...kind.aliases]);
    expect(names.filter((name, i) => names.indexOf(name) !== i || name !== name.toLowerCase())).toEqual([]);
  });

  it.each([
    ['full', 'complete'],
    ['exp2', 'exponential'],
    ['k-regular', 'random-regular'],
    ['erdos_renyi', 'erdos-renyi'],
    ['watts_strogatz', 'small-world'],
    ['Ring', 'ring'],
    ['one-peer', 'one-peer-exponential'],
    ['grid', 'torus'],
  ])('%s is %s', (alias, name) => {
    expect(findKind(alias).name).toBe(name);
    expect(buildTopology({ kind: alias }, 16, 0).kind).toBe(name);
  });
});

it('every kind says what it is in one line', () => {
  expect(kinds.filter(({ summary }) => summary.length < 10 || summary.length > 120 || /[\n.]$/.test(summary))).toEqual(
    [],
  );
});

it('steps repeat after the period and need not be asked in order', () => {
  const topology = buildTopology({ kind: 'one-peer' }, 16, 0);
  expect(topology.period).toBe(4);
  expect(topology.round(4 * 10 ** 9 + 3)).toBe(topology.round(3));
  expect(topology.mixing(7)).toBe(topology.mixing(3));
});
