import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Random } from '../base/random.ts';
import type { Text } from './dataset.ts';
import { apportion, dirichlet } from './dirichlet.ts';
import { classTable, partition, partitionText, type Shards, shardsOf, streamsOf } from './partition.ts';
import type { PartitionSettings } from './settings.ts';

const kinds: readonly PartitionSettings[] = [
  { kind: 'iid' },
  { kind: 'dirichlet', alpha: 0.05, equalSizes: true },
  { kind: 'dirichlet', alpha: 1, equalSizes: true },
  { kind: 'dirichlet', alpha: 0.3, equalSizes: false },
  { kind: 'shards', perReplica: 2 },
  { kind: 'group' },
];

/** Random labels and groups for at least two samples a replica. */
const problems = fc
  .record({ n: fc.integer({ min: 1, max: 20 }), classes: fc.integer({ min: 1, max: 6 }), seed: fc.nat() })
  .chain((given) =>
    fc
      .array(fc.tuple(fc.nat({ max: given.classes - 1 }), fc.nat({ max: 99 })), {
        minLength: 2 * given.n,
        maxLength: 150,
      })
      .map((samples) => ({
        ...given,
        labels: Int32Array.from(samples, ([label]) => label),
        // The first n groups are there for sure.
        groups: Int32Array.from(samples, ([, group], i) => (i < given.n ? i : group)),
      })),
  );

describe.each(kinds.map((settings) => [JSON.stringify(settings), settings] as const))('%s', (_, settings) => {
  it('gives every sample to exactly one replica, the same for the same seed', () => {
    fc.assert(
      fc.property(problems, ({ labels, groups, n, classes, seed }) => {
        const dealt = partition({ labels, groups }, classes, n, settings, seed);
        const all = dealt.flatMap((own) => [...own]).sort((a, b) => a - b);
        const again = partition({ labels, groups }, classes, n, settings, seed);
        return (
          dealt.length === n &&
          all.length === labels.length &&
          all.every((sample, i) => sample === i) &&
          again.every((own, r) => own.every((sample, i) => sample === dealt[r]![i]))
        );
      }),
      { numRuns: 60 },
    );
  });

  if (settings.kind !== 'group' && !('equalSizes' in settings && !settings.equalSizes))
    it('gives equally many to each', () => {
      fc.assert(
        fc.property(problems, ({ labels, groups, n, classes, seed }) => {
          const sizes = partition({ labels, groups }, classes, n, settings, seed).map((own) => own.length);
          return Math.max(...sizes) - Math.min(...sizes) <= (settings.kind === 'shards' ? settings.perReplica : 1);
        }),
        { numRuns: 60 },
      );
    });

  it('depends on the seed', () => {
    const labels = Int32Array.from({ length: 400 }, (__, i) => i % 10);
    const groups = Int32Array.from({ length: 400 }, (__, i) => i % 40);
    const text = (seed: number) =>
      JSON.stringify(partition({ labels, groups }, 10, 8, settings, seed).map((own) => [...own]));
    expect(text(1)).not.toBe(text(2));
  });
});

const labels = Int32Array.from({ length: 6000 }, (_, i) => i % 10);
const counts = (dealt: Shards) => classTable(labels, 10, dealt);
const classesHeld = (dealt: Shards) =>
  counts(dealt).reduce((sum, row) => sum + row.filter((count) => count > 0).length, 0) / dealt.length;

describe('what a partition is for', () => {
  it('iid: every replica sees every class about equally', () => {
    for (const row of counts(partition({ labels }, 10, 10, { kind: 'iid' }, 1)))
      for (const count of row) expect(Math.abs(count - 60)).toBeLessThan(30);
  });

  it('shards: few classes each', () => {
    const dealt = partition({ labels }, 10, 20, { kind: 'shards', perReplica: 2 }, 1);
    for (const row of counts(dealt)) expect(row.filter((count) => count > 0).length).toBeLessThanOrEqual(2);
  });

  it('dirichlet: fewer classes each the smaller alpha is, in the shares of the distribution when it is large', () => {
    const held = [0.02, 0.5, 1000].map((alpha) =>
      classesHeld(partition({ labels }, 10, 20, { kind: 'dirichlet', alpha, equalSizes: true }, 1)),
    );
    expect(held[0]).toBeLessThan(4.5);
    expect(held[1]).toBeGreaterThan(held[0]! + 1);
    expect(held[2]).toBe(10);
    const alike = counts(partition({ labels }, 10, 20, { kind: 'dirichlet', alpha: 1e6, equalSizes: true }, 1));
    for (const count of alike.flat()) expect(Math.abs(count - 30)).toBeLessThan(3);
  });

  it('group: no group is on two replicas, and sizes are nearly equal', () => {
    const groups = Int32Array.from(labels, (_, i) => Math.floor(Math.sqrt(i)));
    const dealt = partition({ labels, groups }, 10, 8, { kind: 'group' }, 1);
    const owners = new Map<number, number>();
    dealt.forEach((own, r) => {
      for (const i of own) owners.set(groups[i]!, (owners.get(groups[i]!) ?? r) === r ? r : -1);
    });
    expect([...owners.values()]).not.toContain(-1);
    for (const own of dealt) expect(Math.abs(own.length - 750)).toBeLessThan(40);
  });
});

it('draws Dirichlet shares with the right mean and variance', () => {
  const random = new Random(1, 'test');
  const alphas = [0.2, 0.3, 1.5];
  const draws = Array.from({ length: 20_000 }, () => dirichlet(random, alphas));
  alphas.forEach((alpha, i) => {
    const mean = draws.reduce((sum, draw) => sum + draw[i]!, 0) / draws.length;
    const variance = draws.reduce((sum, draw) => sum + (draw[i]! - mean) ** 2, 0) / draws.length;
    expect(mean).toBeCloseTo(alpha / 2, 2);
    expect(variance).toBeCloseTo(((alpha / 2) * (1 - alpha / 2)) / 3, 2);
  });
});

it('draws shares for tiny alphas, where gamma numbers are below the smallest double', () => {
  const shares = dirichlet(new Random(1, 'test'), new Float64Array(50).fill(1e-4));
  expect(shares.reduce((a, b) => a + b)).toBeCloseTo(1, 12);
  expect(Math.max(...shares)).toBeGreaterThan(0.99);
});

it('apportions whole numbers that sum to the total', () => {
  expect(apportion([0.5, 0.25, 0.25], 5)).toEqual([3, 1, 1]);
  expect(apportion([1 / 3, 1 / 3, 1 / 3], 7)).toEqual([3, 2, 2]);
});

describe('refuses, with what to do', () => {
  const classification = (size: number, groups?: Int32Array) => {
    const train = {
      count: size,
      features: new Float32Array(size),
      labels: Int32Array.from({ length: size }, (_, i) => i % 2),
      shape: [1],
      ...(groups === undefined ? {} : { groups }),
    };
    return { task: 'classification' as const, name: 'x', shape: [1], classes: 2, train, test: train };
  };

  it('a batch larger than a shard', () => {
    expect(() => shardsOf(classification(100), 16, { kind: 'iid' }, 1, 8)).toThrow(
      'partition iid over 16 replicas: replica 0 gets 6 samples, fewer than one batch of 8, and 15 other replicas too few as well',
    );
    expect(shardsOf(classification(128), 16, { kind: 'iid' }, 1, 8)).toHaveLength(16);
  });

  it('a replica without data', () => {
    const settings = { kind: 'dirichlet', alpha: 0.01, equalSizes: false } as const;
    expect(() => shardsOf(classification(100), 16, settings, 1, 1)).toThrowError(
      expect.objectContaining({
        message: expect.stringMatching(
          /^partition dirichlet over 16 replicas: replica \d+ gets no data, fewer than one batch of 1/,
        ),
        hint: expect.stringContaining('a larger alpha or equalSizes: true'),
      }),
    );
    expect(() => shardsOf(classification(3), 4, { kind: 'iid' }, 1, 1)).toThrow('gets no data');
  });

  it('more shards than samples', () => {
    expect(() => partition({ labels: new Int32Array(10) }, 1, 6, { kind: 'shards', perReplica: 2 }, 1)).toThrow(
      'partition shards: 6 replicas with 2 shards each need at least 12 samples, there are 10',
    );
  });

  it('more replicas than groups, and sets without groups', () => {
    const settings = { kind: 'group' } as const;
    expect(() => shardsOf(classification(4, Int32Array.of(5, 5, 9, 9)), 3, settings, 1, 1)).toThrow(
      'partition group: 3 replicas need at least 3 groups, there are 2',
    );
    expect(() => shardsOf(classification(4), 2, settings, 1, 1)).toThrow('does not say who wrote its samples');
  });
});

describe('text', () => {
  const tokens = Int32Array.from({ length: 100 }, (_, i) => i);
  const text: Text = {
    task: 'language',
    name: 'plays',
    vocabulary: [],
    train: { tokens, utterances: { starts: Int32Array.of(0, 40, 50, 90, 100), speakers: Int32Array.of(0, 1, 0, 2) } },
    test: { tokens },
  };

  it('iid: contiguous pieces of nearly equal length', () => {
    const streams = partitionText(text, 3, { kind: 'iid' }, 1);
    expect(streams.map((stream) => stream.length)).toEqual([33, 33, 34]);
    expect(streams.flatMap((stream) => [...stream])).toEqual([...tokens]);
  });

  it('group: all that a speaker says on one replica, in order', () => {
    const streams = partitionText(text, 2, { kind: 'group' }, 1).map((stream) => [...stream]);
    const speaker0 = [...tokens.subarray(0, 40), ...tokens.subarray(50, 90)];
    const others = [...tokens.subarray(40, 50), ...tokens.subarray(90, 100)];
    expect(streams.sort((a, b) => b.length - a.length)).toEqual([speaker0, others]);
  });

  it('refuses classes, speakers where there are none, and streams shorter than a batch', () => {
    expect(() => partitionText(text, 2, { kind: 'shards', perReplica: 2 }, 1)).toThrow(
      'plays is a text and has no classes',
    );
    const mute = { ...text, train: { tokens } };
    expect(() => partitionText(mute, 2, { kind: 'group' }, 1)).toThrow('plays is a text without speakers');
    expect(() => partitionText(text, 4, { kind: 'group' }, 1)).toThrow(
      '4 replicas need at least 4 speakers, there are 3',
    );
    expect(() => streamsOf(text, 2, { kind: 'iid' }, 1, 10, 5)).toThrow(
      'replica 0 gets 50 tokens, fewer than one batch of 10 rows of 5 tokens and their successors',
    );
    expect(streamsOf(text, 2, { kind: 'iid' }, 1, 10, 4)).toHaveLength(2);
  });
});
