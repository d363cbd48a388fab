import { factsOf, trainersOf } from '../algorithm/facts.ts';
import { programsOf } from '../algorithm/places.ts';
import { Random } from '../base/random.ts';
import { mean } from '../base/statistics.ts';
import type { Experiment } from '../experiment/schema.ts';
import { rowSize } from '../model/layout.ts';
import type { Attendance } from '../network/faults/presence.ts';
import type { Backend } from '../tensor/backend.ts';
import type { Transport } from '../transport/transport.ts';
import { PairPart } from './asynchronous.ts';
import { beginCheckpoint, finishCheckpoint, readCheckpoint, writeBlock } from './checkpoint.ts';
import type { PerReplica } from './columns.ts';
import { wishesOf } from './control.ts';
import { planOfRun } from './edges.ts';
import {
  type EndEvent,
  type EvaluationEvent,
  type Event,
  type LinksEvent,
  type LostEvent,
  lossText,
  type PresenceEvent,
  type Score,
  type Scores,
} from './event.ts';
import type { EvaluationSet, Feed } from './feed.ts';
import { copyOf, digestOf, ownReplicas, perReplica } from './measure.ts';
import { Part, type TrainingPart } from './part.ts';
import { planner } from './plan.ts';
import { openReplicas } from './replicas.ts';

/** Where a run keeps its checkpoints, and the step of the one it continues from. */
export interface Checkpoints {
  readonly folder: string;
  readonly from: number | undefined;
}

type Loss = Omit<LostEvent, 'type'>;

/** A loss beyond this is no training any more. */
const divergedLoss = 1e6;

/** The whole run, as one worker sees it. Every worker goes through the same loop; the events are the same on all of them. */
export async function* loop(
  experiment: Experiment,
  feed: Feed,
  transport: Transport,
  backend: Backend,
  checkpoints: Checkpoints | undefined,
): AsyncGenerator<Event> {
  const programs = programsOf(planOfRun(experiment).plan, wishesOf(experiment.consensus));
  const steps = experiment.epochs * feed.stepsPerEpoch;
  const replicas = await openReplicas(experiment, feed, backend, transport, programs);
  const kind = factsOf(experiment.algorithm).asynchronous ? PairPart : Part;
  const part: TrainingPart = new kind(experiment, transport, replicas, steps);
  const bytes = 4 * rowSize(replicas.layout);
  const plan = planner(experiment, feed.stepsPerEpoch, { bytes, samples: feed.samples });
  const isOver = () => step === steps || timeIsUp(experiment, part);
  let step =
    checkpoints?.from === undefined ? begin(part) : restore(part, checkpoints.folder, checkpoints.from, transport);
  const tensors = part.replicas.layout.map(({ name, shape, kind, size }) => ({ name, shape, kind, size }));
  yield { type: 'start', step, steps, stepsPerEpoch: feed.stepsPerEpoch, workers: transport.workers, tensors };
  let end: Pick<EndEvent, 'status' | 'reason' | 'lost'> = { status: 'complete' };
  const lost: Loss[] = [];
  while (!isOver()) {
    const epoch = Math.floor(step / feed.stepsPerEpoch);
    const { event, measured } = await part.step(step, plan(epoch));
    const { norms, edges } = measured;
    yield* presenceOf(step, measured.attendance);
    yield event;
    if (norms !== undefined) yield { type: 'norms', step, norms: byTensor(norms, transport) };
    if (edges !== undefined) yield edges;
    step += 1;
    const worst = event.loss.findIndex((loss) => loss !== null && !(loss < divergedLoss));
    if (worst >= 0) {
      end = { status: 'diverged', reason: `the loss of replica ${worst} is ${event.loss[worst]} at step ${step - 1}` };
      break;
    }
    const stop = transport.broadcast(transport.stopRequested() ? 1 : 0) === 1;
    const done = step / feed.stepsPerEpoch;
    const over = isOver();
    if (over || (Number.isInteger(done) && done % experiment.evaluation.everyEpochs === 0)) {
      const evaluation = await evaluate(experiment, feed, part, transport, step);
      yield evaluation;
      // The loss of a step is that before it: what the last one did shows only here.
      const worst = evaluation.local.findIndex(({ loss }) => !(loss < divergedLoss));
      if (worst >= 0) {
        const { replicas, local } = evaluation;
        end = {
          status: 'diverged',
          reason: `the test loss of replica ${replicas[worst]} is ${local[worst]!.loss} after ${step} steps`,
        };
        break;
      }
    }
    if (Number.isInteger(done) || over || stop) yield* linksOf(part, step, epoch);
    const due = Number.isInteger(done) && done % experiment.checkpoints.everyEpochs === 0;
    if (checkpoints !== undefined && (due || stop || over))
      if (save(part, transport, checkpoints.folder, step, experiment.checkpoints.keep))
        yield { type: 'checkpoint', step };
    yield* newlyLost(transport, step - 1, lost);
    if (stop && !over) {
      end = { status: 'stopped' };
      break;
    }
  }
  part.settle();
  const paramsSha256 = digestOf(transport, part.model);
  yield* newlyLost(transport, step - 1, lost);
  if (lost.length > 0) end = { reason: lost.map(lossText).join('; '), ...end, lost };
  yield { type: 'end', ...end, step, paramsSha256 };
  await part.replicas.close();
}

/** Whether the last replica has come to the virtual time at which the run is to end. */
const timeIsUp = ({ until }: Experiment, { virtual }: TrainingPart): boolean =>
  until !== undefined && virtual !== undefined && virtual.lastNs >= until.virtualSeconds * 1e9;

/** What was sent over the links since the last time. */
function* linksOf({ links }: TrainingPart, step: number, epoch: number): Generator<LinksEvent> {
  const usage = links.take();
  if (usage !== undefined) yield { type: 'links', step, epoch, ...usage };
}

/** Tells who came and went, if somebody did. */
function* presenceOf(step: number, attendance: Attendance | undefined): Generator<PresenceEvent> {
  if (attendance === undefined || attendance.left.length + attendance.returned.length === 0) return;
  const { left, returned, absent } = attendance;
  yield { type: 'presence', step, left, returned: returned.map(({ replica }) => replica), away: absent.length };
}

/** Tells what is lost and not yet in `lost`, and puts it there. */
function* newlyLost(transport: Transport, step: number, lost: Loss[]): Generator<LostEvent> {
  for (const { rank, replicas } of transport.lost) {
    if (lost.some((known) => known.rank === rank)) continue;
    lost.push({ step, rank, replicas });
    yield { type: 'lost', step, rank, replicas };
  }
}

function begin(part: TrainingPart): number {
  part.start();
  return 0;
}

/** norms[tensor][replica] of what was gathered replica by replica. */
function byTensor(gathered: Float64Array, transport: Transport): PerReplica[] {
  const tensors = gathered.length / transport.replicas;
  return Array.from({ length: tensors }, (_, t) => perReplica(transport, (i) => gathered[i * tensors + t]!));
}

/** Which local models are evaluated: all, or a seeded choice that is the same at every evaluation. If there are servers, these, and clients besides. */
function evaluated(experiment: Experiment): {
  readonly models: readonly number[];
  readonly clients: readonly number[];
} {
  const { seed, replicas, evaluation } = experiment;
  const trainers = trainersOf(experiment);
  const wanted = evaluation.replicas === 'all' ? trainers : Math.min(evaluation.replicas, trainers);
  const chosen = [...new Random(seed, 'evaluate').permutation(trainers).subarray(0, wanted)].sort((a, b) => a - b);
  const servers = Array.from({ length: replicas - trainers }, (_, s) => trainers + s);
  return servers.length === 0 ? { models: chosen, clients: [] } : { models: servers, clients: chosen };
}

async function evaluate(
  experiment: Experiment,
  feed: Feed,
  part: TrainingPart,
  transport: Transport,
  step: number,
): Promise<EvaluationEvent> {
  const start = performance.now();
  part.settle();
  const { models, clients } = evaluated(experiment);
  const test = await scoresOn(feed.test, [...clients, ...models], experiment, part, transport);
  const train = feed.trained && (await scoresOn(feed.trained, models, experiment, part, transport));
  // Only now it is known who is left.
  const there = new Set(transport.present);
  const replicas = models.filter((i) => there.has(i));
  return {
    type: 'evaluation',
    step,
    epoch: Math.floor(step / feed.stepsPerEpoch),
    replicas,
    ...test(replicas),
    ...(clients.length > 0 && { clients: meanScore(test(clients).local) }),
    train: train?.(replicas) ?? null,
    ms: performance.now() - start,
    virtualSeconds: part.virtual === undefined ? null : replicas.map((i) => part.virtual!.finished[i]! / 1e9),
    mergedVirtualSeconds: part.virtual === undefined ? null : part.virtual.lastNs / 1e9,
  };
}

const meanScore = (scores: readonly Score[]): Score => ({
  loss: mean(scores.map(({ loss }) => loss)),
  accuracy: mean(scores.map(({ accuracy }) => accuracy)),
});

/** Scores of the chosen replicas, for those that one asks for afterwards. */
async function scoresOn(
  set: EvaluationSet,
  chosen: readonly number[],
  experiment: Experiment,
  part: TrainingPart,
  transport: Transport,
): Promise<(replicas: readonly number[]) => Scores> {
  const own = new Float64Array(2 * ownReplicas(transport).length);
  // Replicas with equal parameters may still differ in their state.
  const alike = part.keepsEqual && part.replicas.privateRows(transport.first).state === undefined;
  const trainers = trainersOf(experiment);
  // Servers do not train, so that they have no running statistics but those of the clients.
  const common = trainers < experiment.replicas ? stateOfAll(part, transport, trainers) : undefined;
  let last: Score | undefined;
  for (const i of chosen.filter((i) => transport.present.includes(i) && i >= transport.first && i < transport.last)) {
    if (last === undefined || !alike)
      last = await part.replicas.score(
        set,
        copyOf(part.model, i),
        i < trainers ? part.replicas.privateRows(i).state : common,
      );
    own.set([last.loss, last.accuracy], 2 * (i - transport.first));
  }
  const all = transport.gather(own, 2);
  const merged = experiment.evaluation.merged ? await evaluateMerged(set, part, transport, trainers) : null;
  return (replicas) => ({
    samples: set.labels,
    local: replicas.map((i) => ({ loss: all[2 * i]!, accuracy: all[2 * i + 1]! })),
    merged,
  });
}

/** Of the first replicas, those that train. */
const stateOfAll = (part: TrainingPart, transport: Transport, trainers: number) =>
  meanState(
    ownReplicas(transport).flatMap((i) => part.replicas.privateRows(i).state ?? []),
    transport,
    trainers,
  );

/** The average of all replicas, or of the servers, running statistics included: the first worker evaluates it for all. */
async function evaluateMerged(
  set: EvaluationSet,
  part: TrainingPart,
  transport: Transport,
  trainers: number,
): Promise<Score> {
  const params = part.merge();
  const state = stateOfAll(part, transport, trainers);
  const score = transport.worker === 0 ? await part.replicas.score(set, params, state) : { loss: 0, accuracy: 0 };
  return { loss: transport.broadcast(score.loss), accuracy: transport.broadcast(score.accuracy) };
}

/**
 * The mean over all replicas, or some from the first on, of which `rows` are those of this worker. Some columns at a time: the states of all together may be large,
 * and every worker would hold them.
 */
export function meanState(
  rows: readonly Float32Array[],
  transport: Pick<Transport, 'gather' | 'present'>,
  trainers = Number.POSITIVE_INFINITY,
): Float32Array | undefined {
  const [first] = rows;
  if (first === undefined) return undefined;
  const mean = new Float32Array(first.length);
  for (let from = 0; from < mean.length; from += 64) {
    const width = Math.min(64, mean.length - from);
    const own = new Float64Array(rows.length * width);
    rows.forEach((row, place) => {
      own.set(row.subarray(from, from + width), place * width);
    });
    const all = transport.gather(own, width);
    const there = transport.present.filter((i) => i < trainers);
    for (let c = 0; c < width; c++) {
      let sum = 0;
      for (const i of there) sum += all[i * width + c]!;
      mean[from + c] = sum / there.length;
    }
  }
  return mean;
}

/** False if replicas are lost: what is left is no whole checkpoint, and the one before must stay. */
function save(part: TrainingPart, transport: Transport, folder: string, step: number, keep: number): boolean {
  const { first, last } = transport;
  if (transport.lost.length > 0) return false;
  part.settle();
  if (transport.worker === 0) beginCheckpoint(folder, step);
  transport.barrier();
  const rows = Object.fromEntries(Object.entries(storedRows(part, transport)).map(([name, { get }]) => [name, get]));
  writeBlock(folder, { first, last, step, common: part.memory, rows });
  transport.barrier();
  if (transport.lost.length > 0) return false;
  if (transport.worker === 0) finishCheckpoint(folder, step, keep);
  transport.barrier();
  // Finds nothing to do, unless this worker's disk is another than that of worker 0.
  if (transport.worker > 0) finishCheckpoint(folder, step, keep);
  transport.barrier();
  return true;
}

function restore(part: TrainingPart, folder: string, step: number, transport: Transport): number {
  part.memory = readCheckpoint(folder, step, transport, storedRows(part, transport));
  transport.barrier();
  return step;
}

/** A row of each own replica that a checkpoint holds. */
interface StoredRow {
  readonly length: number;
  get(replica: number): Float32Array;
  put(replica: number, row: Float32Array): void;
}

/** What a checkpoint holds, by name: the rows and numbers of the method, optimizer slots, the model's state. */
function storedRows(part: TrainingPart, { first }: Transport): Readonly<Record<string, StoredRow>> {
  const rows = part
    .rows()
    .map(([name, rows]): [string, StoredRow] => [
      name === 'x' ? 'params' : `row/${name}`,
      { length: rows.columns, get: (i) => copyOf(rows, i), put: (i, row) => rows.write(i, row) },
    ]);
  const numbers = part.numbers().map(([name, own]): [string, StoredRow] => {
    // The eight bytes of a float64 as two float32, which nobody computes with.
    const halves = (i: number) => new Float32Array(own.buffer, own.byteOffset + 8 * (i - first), 2);
    return [`number/${name}`, { length: 2, get: halves, put: (i, row) => halves(i).set(row) }];
  });
  const own = Object.entries(part.replicas.privateRows(first)).map(([name, { length }]): [string, StoredRow] => {
    const get = (i: number) => part.replicas.privateRows(i)[name]!;
    return [name, { length, get, put: (i, row) => get(i).set(row) }];
  });
  return Object.fromEntries([...rows, ...numbers, ...own]);
}
