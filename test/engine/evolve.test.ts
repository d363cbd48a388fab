import { expect, it } from 'vitest';
import { prepare } from '../../src/engine/prepare.ts';
import { resolve } from '../../src/experiment/experiment.ts';
import { buildTopology } from '../../src/topology/topology.ts';
import { outcomeOf, small } from './runs.ts';

const settings = { ...small, optimizer: { kind: 'sgd' }, algorithm: { kind: 'ntk-dfl' } };
const prepared = (changed: object) => prepare(resolve({ ...settings, ...changed }, 'test')[0]!);

it.each([
  ['two hidden layers', { model: { kind: 'mlp', hidden: [16, 16] } }, 'an mlp with one hidden layer of ReLU'],
  ['another activation', { model: { kind: 'mlp', activation: 'tanh' } }, 'an mlp with one hidden layer of ReLU'],
  ['dropout', { model: { kind: 'mlp', dropout: 0.5 } }, 'without dropout'],
  [
    'too many samples',
    { replicas: 2, batch: 601, topology: { kind: 'complete' }, data: { ...small.data, train: 1400 } },
    'at most 1200 samples, but a replica and those it hears have 2 batches of 601, which are 1202',
  ],
])('refused before the run: %s', async (_, changed, why) => {
  await expect(prepared(changed)).rejects.toThrow(why);
});

it('as many samples as a kernel may have are not refused', async () => {
  const data = { ...small.data, train: 1200 };
  await expect(prepared({ replicas: 2, batch: 600, topology: { kind: 'complete' }, data })).resolves.toBeDefined();
});

/** With all neighbours, one candidate of one step, and the data of all in every batch: plain descent on the same samples. */
it('by one step on the complete topology it is centralized training', async () => {
  const changed = { replicas: 4, epochs: 2, topology: { kind: 'complete' } };
  const evolved = await outcomeOf({ ...settings, ...changed, algorithm: { kind: 'ntk-dfl', candidates: [1] } });
  const central = await outcomeOf({ ...settings, ...changed, algorithm: { kind: 'centralized' } });
  const last = (outcome: typeof central) => outcome.evaluations.at(-1)!.local[0]!.loss;
  expect(last(evolved)).toBeCloseTo(last(central), 4);
  // What each replica finds before its step is the loss of all their samples.
  const mean = central.steps[0]!.loss.reduce((sum: number, loss) => sum + loss!, 0) / 4;
  expect(evolved.steps[0]!.loss[2]).toBeCloseTo(mean, 5);
});

it('pools the samples of those with whom it averages in the same round', async () => {
  const changed = { replicas: 4, epochs: 1, topology: { kind: 'one-peer-exponential' } };
  const [pooled, alone] = await Promise.all(
    ['ntk-dfl', 'dpsgd'].map((kind) => outcomeOf({ ...settings, ...changed, algorithm: { kind } })),
  );
  const { start, source } = buildTopology(changed.topology, 4, 1).mixing(0);
  // All start from the same parameters, so the first losses differ by samples only.
  const losses = alone!.steps[0]!.loss;
  pooled!.steps[0]!.loss.forEach((loss, i) => {
    const heard = [...source.slice(start[i], start[i + 1])];
    expect(heard).toHaveLength(2);
    expect(loss).toBeCloseTo(heard.reduce((sum, j) => sum + losses[j]!, 0) / 2, 5);
  });
});
