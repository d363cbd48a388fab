import { describe, expect, it } from 'vitest';
import type { BackendName } from '../../src/backends.ts';
import { take } from '../../src/data/dataset.ts';
import { loadData } from '../../src/data/load.ts';
import { feedOf } from '../../src/engine/feed.ts';
import { resolve } from '../../src/experiment/experiment.ts';
import { backends, noOneDnn } from '../backends.ts';
import { inPairs, outcomeOf, shaOf, small } from './runs.ts';

const losses = (outcome: Awaited<ReturnType<typeof outcomeOf>>) => outcome.steps.map((step) => step.loss);
const meanAccuracy = ({ evaluations }: Awaited<ReturnType<typeof outcomeOf>>) => {
  const local = evaluations.at(-1)!.local;
  return local.reduce((sum, score) => sum + score.accuracy, 0) / local.length;
};

describe.each(backends)('$title: bits do not depend on the number of workers', ({ backend, skip }) => {
  const name = backend.name as BackendName;
  it.skipIf(skip).each([
    ['ring', {}],
    ['torus', { topology: { kind: 'torus' } }],
    ['exponential', { topology: { kind: 'exponential' } }],
    ['one-peer', { topology: { kind: 'one-peer-exponential' } }],
    ['random each step', { topology: { kind: 'epidemic', k: 3 } }],
    ['complete', { topology: { kind: 'complete' } }],
    ['Ada', { topology: { kind: 'ada', k0: 11, kEnd: 3 } }],
    ['centralized', { algorithm: { kind: 'centralized' } }],
    ['consensus control', { consensus: { kind: 'adaptive' } }],
    ['critical distance', { consensus: { kind: 'critical', fraction: 0.1 } }],
    ['convolutions', { model: { kind: 'cnn', filters: [4] }, data: { ...small.data, shape: [1, 8, 8] } }],
    ['asynchronous pairs', inPairs],
    ['asynchronous pairs that overlap', { ...inPairs, algorithm: { kind: 'ad-psgd', overlap: true } }],
    [
      'batch norm',
      { replicas: 3, model: { kind: 'resnet20' }, data: { ...small.data, shape: [3, 8, 8], train: 96 }, batch: 16 },
    ],
    [
      'dropout and Adam',
      { model: { kind: 'mlp', hidden: [16], dropout: 0.3 }, optimizer: { kind: 'adam' }, learningRate: { base: 0.01 } },
    ],
  ])('%s', async (_, settings) => {
    const [one, two, three] = await Promise.all(
      [1, 2, 3].map((workers) => shaOf({ epochs: 1, ...settings }, workers, name)),
    );
    expect([two, three]).toEqual([one, one]);
  });

  it.skipIf(skip)('but on the seed', async () => {
    const [two, three] = await Promise.all([2, 3].map((seed) => shaOf({ seed, epochs: 1 }, 1, name)));
    expect(two).not.toBe(three);
  });
});

describe('identities', () => {
  it('Ada with k ≥ n−1 is the complete topology and with k = 2 the ring, bit for bit', async () => {
    const ada = (k: number) => shaOf({ topology: { kind: 'ada', k0: k, kEnd: k } });
    expect(await ada(40)).toBe(await shaOf({ topology: { kind: 'complete' } }));
    expect(await ada(2)).toBe(await shaOf({}));
  });

  it('averaging parameters over all equals averaging gradients over all', async () => {
    const [decentralized, centralized] = await Promise.all([
      outcomeOf({ topology: { kind: 'complete' } }),
      outcomeOf({ algorithm: { kind: 'centralized' } }),
    ]);
    const worst = losses(decentralized).flatMap((row, s) =>
      row.map((loss, i) => Math.abs(loss! - losses(centralized)[s]![i]!)),
    );
    expect(Math.max(...worst)).toBeLessThan(2e-4);
  });

  it('one replica alone is plain SGD, whatever the algorithm', async () => {
    const one = { replicas: 1, data: { ...small.data, train: 160 } };
    const [alone, centralized] = await Promise.all([
      outcomeOf(one),
      outcomeOf({ ...one, algorithm: { kind: 'centralized' } }),
    ]);
    expect(alone.steps.every((step) => step.sentBytes === 0 && step.distance === 0)).toBe(true);
    const worst = losses(alone).map(([loss], s) => Math.abs(loss! - losses(centralized)[s]![0]!));
    expect(Math.max(...worst)).toBeLessThan(1e-5);
  });

  it('combine-then-adapt is adapt-then-combine shifted by half a step', async () => {
    const [atc, cta] = await Promise.all([
      outcomeOf({}),
      outcomeOf({ algorithm: { kind: 'dpsgd', order: 'combine-then-adapt' } }),
    ]);
    // The first combination averages equal rows, so up to its rounding the gradients are the same.
    expect(cta.steps[5]!.loss[0]).toBeCloseTo(atc.steps[5]!.loss[0]!, 4);
    expect(cta.end.paramsSha256).not.toBe(atc.end.paramsSha256);
  });
});

it.skipIf(noOneDnn !== undefined)(`both backends learn the same${noOneDnn ? ` (${noOneDnn})` : ''}`, async () => {
  const [onnx, onednn] = await Promise.all([outcomeOf({}, { backend: 'onnx' }), outcomeOf({}, { backend: 'onednn' })]);
  const worst = losses(onnx).flatMap((row, s) => row.map((loss, i) => Math.abs(loss! - losses(onednn)[s]![i]!)));
  expect(Math.max(...worst)).toBeLessThan(1e-3);
  expect(meanAccuracy(onednn)).toBeCloseTo(meanAccuracy(onnx), 2);
  expect(onnx.end.paramsSha256).not.toBe(onednn.end.paramsSha256);
});

describe('what is measured', () => {
  it('learns, and the topology decides how well the replicas agree', async () => {
    const [ring, complete] = await Promise.all([outcomeOf({}), outcomeOf({ topology: { kind: 'complete' } })]);
    expect(meanAccuracy(complete)).toBeGreaterThan(0.8);
    expect(ring.steps.at(-1)!.distance!).toBeGreaterThan(2 * complete.steps.at(-1)!.distance!);
  });

  it('counts what is sent by degree', async () => {
    const parameters = 10 * 16 + 16 + 16 * 4 + 4;
    const sent = async (settings: object) => (await outcomeOf({ epochs: 1, ...settings })).steps[0]!;
    expect(await sent({})).toMatchObject({
      sentMessages: 2,
      sentBytes: 2 * 4 * parameters,
      gossips: 1,
      connections: 2,
    });
    expect(await sent({ topology: { kind: 'complete' } })).toMatchObject({
      sentMessages: 11,
      sentBytes: 11 * 4 * parameters,
    });
    // Ring all-reduce: 2(n−1) messages of 1/n of the gradient.
    const { sentMessages, sentBytes } = await sent({ algorithm: { kind: 'centralized' } });
    expect(sentMessages).toBe(22);
    expect(sentBytes).toBeCloseTo((22 / 12) * 4 * parameters, 6);
  });

  it('a last batch that is not full is left out or trained on, as asked for', async () => {
    // 10 or 11 samples a replica: one batch of 8, and one of 2 or 3.
    const data = { ...small.data, train: 124 };
    const dropping = await outcomeOf({ epochs: 2, data });
    expect(dropping.steps).toHaveLength(2);
    for (const algorithm of [{ kind: 'dpsgd' }, { kind: 'centralized' }]) {
      const settings = { epochs: 2, algorithm, data: { ...data, dropLast: false } };
      const keeping = await outcomeOf(settings, { workers: 2 });
      expect(keeping.steps).toHaveLength(4);
      const shares = (step: number) => new Set(keeping.steps[step]!.accuracy.map((share) => (share! * 8) % 1));
      expect([...shares(0)]).toEqual([0]);
      // Thirds and halves: shares of the samples that there are.
      const counted = keeping.steps[1]!.accuracy.every((share) =>
        [2, 3].some((size) => Math.abs((share! * size) % 1) < 1e-9),
      );
      expect(counted).toBe(true);
      expect(await shaOf(settings, 3)).toBe(keeping.end.paramsSha256);
    }
  });

  it('takes norms before averaging: they differ between replicas even on the complete topology', async () => {
    const { events } = await outcomeOf({ epochs: 1, topology: { kind: 'complete' } });
    const norms = events.find((event) => event.type === 'norms')!;
    expect(norms.norms).toHaveLength(4);
    expect(norms.norms[0]).toHaveLength(12);
    expect(new Set(norms.norms[0]).size).toBeGreaterThan(6);
  });

  it('local steps average only every so often', async () => {
    const { steps } = await outcomeOf({ epochs: 1, algorithm: { kind: 'dpsgd', localSteps: 4 } });
    expect(steps.map((step) => step.gossips)).toEqual([0, 0, 0, 1, 0, 0, 0, 1, 0, 0]);
  });

  it('a final merge leaves all replicas equal, and is paid for', async () => {
    const { evaluations, steps } = await outcomeOf({ algorithm: { kind: 'dpsgd', finalMerge: true } });
    expect(new Set(evaluations.at(-1)!.local.map((score) => score.loss)).size).toBe(1);
    expect(steps.slice(-2).map(({ sentMessages }) => sentMessages)).toEqual([2, 2 + 22]);
  });

  it('the merged model is what a final merge makes of every replica', async () => {
    const [apart, merged] = await Promise.all(
      [{}, { algorithm: { kind: 'dpsgd', finalMerge: true } }].map((each) => outcomeOf(each)),
    );
    const [before, after] = [apart!.evaluations.at(-1)!, merged!.evaluations.at(-1)!];
    expect(after.local).toEqual(after.local.map(() => before.merged));
    expect(before.local).not.toContainEqual(before.merged);
  });

  it('evaluates as many replicas and samples as asked for', async () => {
    const { evaluations } = await outcomeOf({
      evaluation: { replicas: 3, samples: 50, everyEpochs: 2, merged: false },
    });
    expect(evaluations.map(({ epoch }) => epoch)).toEqual([2, 3]);
    expect(evaluations[0]).toMatchObject({ samples: 50, merged: null });
    expect(evaluations[0]!.replicas).toHaveLength(3);
  });

  it('evaluates on training samples if asked for, as on those of a test set', async () => {
    const dataset = await loadData(resolve(small, 'test')[0]!.data, { seed: 1 });
    if (dataset.task !== 'classification') throw new Error('no classes');
    const settings = { epochs: 1, evaluation: { train: 'all' } };
    const same = await outcomeOf(settings, {}, { ...dataset, test: dataset.train });
    const { train, samples, local, merged } = same.evaluations[0]!;
    expect(train).toEqual({ samples, local, merged });
    expect(samples).toBe(960);
    const some = await outcomeOf({ epochs: 1, evaluation: { train: 50, replicas: 3 } });
    expect(some.evaluations[0]!.train).toMatchObject({ samples: 50 });
    expect(some.evaluations[0]!.train!.local).toHaveLength(3);
    const none = await outcomeOf({ epochs: 1 });
    expect(none.evaluations[0]!.train).toBeNull();
    expect(none.end.paramsSha256).toBe(some.end.paramsSha256);
  });

  it('chooses the test samples by the seed, not the first ones', async () => {
    // Sorted by class, as some sets are: the first ones would all be of one class.
    const dataset = await loadData(resolve(small, 'test')[0]!.data, { seed: 1 });
    if (dataset.task !== 'classification') throw new Error('no classes');
    const order = [...dataset.test.labels.keys()].sort((a, b) => dataset.test.labels[a]! - dataset.test.labels[b]!);
    const sorted = { ...dataset, test: take(dataset.test, Uint32Array.from(order)) };
    const feed = feedOf(resolve({ ...small, evaluation: { samples: 40 } }, 'test')[0]!, sorted);
    const labels = new Int32Array(feed.evaluationBatch);
    const x = new Float32Array(feed.evaluationBatch * 10);
    expect(feed.test.fill(0, x, labels)).toBe(40);
    expect(new Set(labels).size).toBe(4);
    const again = new Int32Array(feed.evaluationBatch);
    feed.test.fill(0, x, again);
    expect(again).toEqual(labels);
  });
});

describe('consensus control', () => {
  it('keeps the distance below its share of the uncontrolled one', async () => {
    const { steps } = await outcomeOf({ consensus: { kind: 'fixed', fraction: 0.25, from: 1 } });
    const controlled = steps.filter((step) => step.epoch >= 1);
    expect(controlled.every((step) => step.controlledDistance! <= step.targetDistance!)).toBe(true);
    expect(Math.max(...controlled.map((step) => step.gossips))).toBeGreaterThan(1);
    // The extra gossips are paid for, and so is to know Ξ: a message to all but oneself, then 4 = ⌈log2 12⌉ after each gossip.
    const extra = controlled.find((step) => step.gossips > 1)!;
    expect(extra.sentMessages).toBe(2 * extra.gossips + 11 + 4 * extra.gossips);
    const [row, double] = [4 * (10 * 16 + 16 + 16 * 4 + 4), 8];
    const known = (11 / 12) * row + 4 * double * (extra.gossips + 1);
    expect(extra.sentBytes).toBeCloseTo(2 * extra.gossips * row + known, 6);
    expect(steps.filter((step) => step.epoch < 1).every((step) => step.gossips === 1)).toBe(true);
  });

  it('gossips no more often than the target needs', async () => {
    const settings = { epochs: 1, consensus: { kind: 'adaptive', scale: 0.5 } };
    const { steps } = await outcomeOf(settings);
    // With one gossip less in each step none of those that made more than one would have got there.
    for (const cap of new Set(steps.map((step) => step.gossips - 1))) {
      if (cap < 1) continue;
      const fewer = await outcomeOf({ ...settings, consensus: { ...settings.consensus, cap } });
      const first = fewer.steps.findIndex((step) => step.controlledDistance! > step.targetDistance!);
      // Up to there both are the same run.
      expect(first).toBe(steps.findIndex((step) => step.gossips > cap));
    }
  });

  it.each(['adapt-then-combine', 'combine-then-adapt'])('the critical distance is reached, %s', async (order) => {
    const algorithm = { kind: 'dpsgd', order };
    const { steps } = await outcomeOf({ consensus: { kind: 'critical', fraction: 0.2, to: 2 }, algorithm });
    const controlled = steps.filter((step) => step.targetDistance !== null);
    expect(controlled.length).toBeGreaterThan(15);
    expect(controlled.every((step) => step.epoch < 2)).toBe(true);
    expect(Math.max(...controlled.map((step) => step.gossips))).toBeGreaterThan(2);
    expect(controlled.filter((step) => step.controlledDistance! <= step.targetDistance!).length).toBeGreaterThan(
      0.8 * controlled.length,
    );
  });

  it('the critical distance follows from the loss, not from how far a step goes: L is that of one batch at two points', async () => {
    const targetAt = async (base: number) => {
      const consensus = { kind: 'critical', cap: 1 };
      const { steps } = await outcomeOf({ epochs: 1, learningRate: { base }, optimizer: { kind: 'sgd' }, consensus });
      return steps.find((step) => step.targetDistance !== null)!.targetDistance!;
    };
    // Gradients of different batches differ by their noise, however near the points: L would be ten times as large.
    const [long, short] = [await targetAt(1e-3), await targetAt(1e-4)];
    expect(short / long).toBeGreaterThan(0.7);
    expect(short / long).toBeLessThan(1.4);
  });

  it('what gradients tell is paid for', async () => {
    const [row, double] = [4 * (10 * 16 + 16 + 16 * 4 + 4), 8];
    const sentBy = async (consensus: object) => {
      const { steps } = await outcomeOf({ epochs: 1, consensus: { ...consensus, cap: 1 } });
      const { sentBytes, sentMessages } = steps.find((step) => step.targetDistance !== null)!;
      return [sentBytes, sentMessages];
    };
    // One gossip with two neighbours; Ξ after it; and one number, summed over all.
    const gossip = 2 * row + (11 / 12) * row + 4 * 2 * double;
    const adaptive = gossip + 4 * double;
    expect(await sentBy({ kind: 'adaptive' })).toEqual([expect.closeTo(adaptive, 6), 2 + 11 + 4 + 4]);
    // The mean gradient and its length; the means of how gradients and parameters changed, and three numbers.
    const critical = adaptive + 3 * (11 / 12) * row + 4 * (1 + 3) * double;
    expect(await sentBy({ kind: 'critical' })).toEqual([
      expect.closeTo(critical, 6),
      2 + 11 + 4 + 4 + (11 + 4) + (11 + 11 + 4),
    ]);
  });

  it('never gossips more often than its cap', async () => {
    const { steps } = await outcomeOf({ consensus: { kind: 'fixed', fraction: 0.01, maxDistance: 0.01, cap: 3 } });
    expect(Math.max(...steps.map((step) => step.gossips))).toBe(3);
  });
});

it('a run that diverges ends cleanly and says so', async () => {
  const { end, steps } = await outcomeOf({ learningRate: { base: 1e6 } });
  expect(end.status).toBe('diverged');
  expect(end.reason).toMatch(/loss of replica \d+ is/);
  expect(steps.length).toBeLessThan(30);
});

it('as does one that diverges in its last step', async () => {
  const { end } = await outcomeOf({ epochs: 1, batch: 80, learningRate: { base: 1e20 } });
  expect(end).toMatchObject({ status: 'diverged', step: 1 });
  expect(end.reason).toMatch(/the test loss of replica \d+ is .* after 1 steps/);
});

it('a replica without data is refused before anything starts', async () => {
  await expect(outcomeOf({ batch: 100 })).rejects.toThrow(/replica 0 gets 80 samples, fewer than one batch of 100/);
});

describe('distances', () => {
  it('of each replica make up Ξ', async () => {
    const { steps } = await outcomeOf({ epochs: 1 });
    for (const { distance, replicaDistance } of steps) {
      const squares = replicaDistance!.map((each) => each! ** 2);
      expect(Math.sqrt(squares.reduce((sum, square) => sum + square) / squares.length)).toBeCloseTo(distance!, 6);
    }
    expect(steps.map(({ round }) => round)).toEqual(steps.map(({ step }) => step));
  });

  it('over the edges are those of the round, fit those to the mean, and change no bit', async () => {
    const plain = await outcomeOf({ epochs: 1 });
    const one = await outcomeOf({ epochs: 1, probes: { edges: true } }, { workers: 1 });
    const two = await outcomeOf({ epochs: 1, probes: { edges: true } }, { workers: 2 });
    expect(two.end.paramsSha256).toBe(plain.end.paramsSha256);
    const edgesOf = ({ events }: typeof one) => events.flatMap((event) => (event.type === 'edges' ? [event] : []));
    expect(edgesOf(one)).toEqual(edgesOf(two));
    expect(edgesOf(one)).toHaveLength(plain.steps.length);
    expect(edgesOf(plain)).toEqual([]);
    for (const { step, source, replica, distance } of edgesOf(one)) {
      expect(source).toHaveLength(24);
      const own = plain.steps[step]!.replicaDistance!;
      for (const [e, i] of replica.entries()) {
        const j = source[e]!;
        expect([1, 11]).toContain(Math.abs(i! - j));
        // The triangle with the mean.
        expect(distance[e]!).toBeLessThanOrEqual((own[i!]! + own[j]!) * 1.0001);
        expect(distance[e]!).toBeGreaterThanOrEqual(Math.abs(own[i!]! - own[j]!) * 0.9999);
        expect(distance[e]).toBeGreaterThan(0);
        // Heard both ways.
        const back = replica.findIndex((other, f) => other === j && source[f] === i);
        expect(distance[back]).toBe(distance[e]);
      }
    }
  });
});
