import { flatStages } from '../algorithm/stage.ts';
import { UserError } from '../base/error.ts';
import { sizeOf } from '../base/shape.ts';
import type { Experiment } from '../experiment/schema.ts';
import type { Task } from '../model/context.ts';
import { evolve, type Layers, type Pool } from '../model/evolve.ts';
import type { Layout } from '../model/layout.ts';
import { stopsOf } from '../topology/mixing.ts';
import { topologyAt } from '../topology/schedule.ts';
import { buildTopology } from '../topology/topology.ts';
import { planOfRun } from './edges.ts';
import type { Feed } from './feed.ts';

/** A kernel of more samples takes minutes per replica and step. */
const mostSamples = 1200;
/** Rounds that are looked at before a run, if topologies are drawn anew. */
const mostRounds = 16;

function requireSamples(batch: number, replicas: number): void {
  const samples = batch * replicas;
  if (samples <= mostSamples) return;
  throw new UserError(
    `a kernel is made of at most ${mostSamples} samples, but a replica and those it hears have ${replicas} batches of ${batch}, which are ${samples}`,
    { hint: `use a batch of at most ${Math.floor(mostSamples / replicas)}, or a topology with fewer connections` },
  );
}

/** Refuses a run whose method moves models along their kernels if its model has no such kernel in closed form, or its pools are too large. */
export function requireKernel(experiment: Experiment, { kind: task = 'classification' }: Task): void {
  const { model, data, batch, replicas, epochs, seed, topology } = experiment;
  const { plan } = planOfRun(experiment);
  if (!flatStages(plan.stages).some((stage) => stage.do === 'evolve')) return;
  const fits = model.kind === 'mlp' && model.hidden.length === 1 && model.activation === 'relu' && model.dropout === 0;
  const refuse = (what: string, hint: string) => {
    throw new UserError(`the ${plan.method.name} algorithm needs ${what}`, { hint });
  };
  if (!fits)
    refuse(
      'a model whose tangent kernel is known in closed form: an mlp with one hidden layer of ReLU, without dropout',
      'use model: { kind: mlp, hidden: [128] }, or another algorithm',
    );
  if (task !== 'classification') refuse(`classes to tell apart, not ${task}`, 'use other data, or another algorithm');
  if ('dropLast' in data && !data.dropLast)
    refuse('batches that are all of one size', 'leave out data.dropLast: false, or choose another algorithm');
  const topologies = new Map(
    Array.from({ length: epochs }, (_, epoch) => topologyAt(topology, replicas, epoch, epochs)).map((each) => [
      JSON.stringify(each),
      each,
    ]),
  );
  for (const each of topologies.values()) {
    const built = buildTopology(each, replicas, seed);
    for (let round = 0; round < Math.min(built.period, mostRounds); round++) {
      const mixing = built.mixing(round);
      const stop = stopsOf(mixing);
      for (let i = 0; i < replicas; i++) requireSamples(batch, stop[i]! - mixing.start[i]!);
    }
  }
}

/** Moves a row along its kernel on the batches that these replicas have in a step. Every worker has all data, so it asks nobody. */
export function evolver(feed: Feed, batch: number, layout: Layout) {
  const size = sizeOf(feed.task.shape);
  const [x, labels] = [new Float32Array(batch * size), new Int32Array(batch)];
  const poolOf = (replicas: readonly number[], step: number): Pool => {
    requireSamples(batch, replicas.length);
    const pool = { x: new Float64Array(replicas.length * x.length), labels: new Int32Array(replicas.length * batch) };
    for (const [place, replica] of replicas.entries()) {
      feed.train(replica, step, x, labels);
      pool.x.set(x, place * x.length);
      pool.labels.set(labels, place * batch);
    }
    return pool;
  };
  const names = { w1: 'fc1.weight', b1: 'fc1.bias', w2: 'fc2.weight', b2: 'fc2.bias' } as const;
  const placeOf = (name: keyof Layers) => layout.find((tensor) => tensor.name === names[name])!;
  const part = (row: Float32Array, name: keyof Layers) => {
    const { offset, size: length } = placeOf(name);
    return Float64Array.from(row.subarray(offset, offset + length));
  };
  return (heard: readonly number[], step: number, row: Float32Array, rate: number, taus: readonly number[]) => {
    const given = { w1: part(row, 'w1'), b1: part(row, 'b1'), w2: part(row, 'w2'), b2: part(row, 'b2') };
    const { layers, loss, accuracy, gradientNorm } = evolve(given, poolOf(heard, step), rate, taus);
    const moved = new Float32Array(row.length);
    for (const name of Object.keys(names) as (keyof Layers)[]) moved.set(layers[name], placeOf(name).offset);
    return { row: moved, loss, accuracy, gradientNorm };
  };
}
