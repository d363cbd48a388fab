import { stepOf } from '../algorithm/actions.ts';
import { rowCompressor } from '../algorithm/compressors.ts';
import { factsOf } from '../algorithm/facts.ts';
import type { TensorPlace } from '../algorithm/function.ts';
import { rowFunctions } from '../algorithm/functions.ts';
import { unmetNeed } from '../algorithm/needs.ts';
import { patternOf } from '../algorithm/pattern.ts';
import { flatStages } from '../algorithm/stage.ts';
import { topologiesOf } from '../algorithm/topology.ts';
import { UserError } from '../base/error.ts';
import { Random } from '../base/random.ts';
import type { Experiment } from '../experiment/schema.ts';
import { type DeviceSettings, isSteady } from '../network/devices.ts';
import type { NetworkSettings } from '../network/network.ts';
import type { Pattern } from '../network/pattern.ts';
import type { PlainGossip } from '../network/placement.ts';
import { type Premises, premisesOf } from '../network/premises.ts';
import { exchangeTimes, type PairCourse } from '../network/queue.ts';
import type { Course } from '../network/steady.ts';
import type { Hearing } from '../network/timetable.ts';
import { type Cohort, heardIn } from '../topology/cohort.ts';
import type { Mixing } from '../topology/mixing.ts';
import type { Topology } from '../topology/topology.ts';
import { planOfRun } from './edges.ts';

/** The settings that the time of a run's steps depends on. */
export type TimedSettings = Pick<
  Experiment,
  'algorithm' | 'topology' | 'replicas' | 'seed' | 'epochs' | 'batch' | 'faults'
> &
  Partial<Pick<Experiment, 'network' | 'devices'>>;

/** A tensor of the model. */
export type Shaped = Pick<TensorPlace, 'size' | 'shape'>;

/** The steps of a run, as far as their time goes. */
export interface RunCourse extends Omit<Course, 'hearing' | 'hearingPeriod'>, Premises {
  /** @param branch which conditions held that hang on numbers, if that was recorded */
  pattern(t: number, branch?: number): Pattern;
  hearing(epoch: number): Hearing;
  topology(epoch: number): Topology;
}

/**
 * @param tensors of the model, in their order
 * @param steps of the whole run: the last one may differ
 */
export function courseOf(
  settings: TimedSettings,
  given: { readonly network: NetworkSettings; readonly devices: DeviceSettings },
  tensors: readonly Shaped[],
  steps = Number.POSITIVE_INFINITY,
): RunCourse {
  const { replicas: n, seed, batch, algorithm } = settings;
  const { plan, edges } = planOfRun(settings);
  let columns = 0;
  const offsets = [0, ...tensors.map(({ size }) => (columns += size))];
  const placed = tensors.map((tensor, index) => ({ ...tensor, offset: offsets[index]! }));
  const { compressor } = algorithm as { compressor?: Parameters<typeof rowCompressor>[0] };
  const compressedBytes = compressor === undefined ? 0 : rowCompressor(compressor, offsets).bytes;
  // The last tensor of a model that evolves is its bias, one for each class.
  const answers = { samples: batch, classes: tensors.at(-1)?.size ?? 1 };
  // What is sent of a row may take turns.
  const turns = flatStages(plan.stages).some((stage) => stage.do === 'apply' && rowFunctions[stage.name]!.spans)
    ? 2
    : 1;
  const patterns = Array.from({ length: turns }, () => new WeakMap<object, Pattern>());
  const sizes = { columns, tensors: placed, compressedBytes, answers };
  const pattern = (t: number, branch?: number) => {
    const step = stepOf(plan, { t, steps, eta: 1, etaBefore: 1, branch });
    const known = patterns[t % turns]!.get(step.actions) ?? patternOf(plan, step, sizes);
    patterns[t % turns]!.set(step.actions, known);
    return known;
  };
  const { usesTopology, servers } = factsOf(algorithm);
  // Of those that use none, the topology may be one that does not exist.
  const always = usesTopology ? edges && edgeSources(edges.partners, n) : Array.from({ length: n }, () => []);
  // Who speaks with whom is as it was in the run, if that had a network of its own.
  const connected = settings.network === undefined ? { ...settings, ...given } : settings;
  const topology = topologiesOf(connected, { bytes: 4 * columns });
  const periods = Object.values(plan.scalars).filter((value) => Number.isInteger(value) && value > 1 && value <= 1000);
  const rounds = () => (usesTopology && servers === 0 ? heardAtFirst(topology(0), n) : []);
  const premises = premisesOf(given, { n, seed, batch, bytes: 4 * columns, rounds });
  const cohort = servers === 0 ? undefined : topology(0).cohort;
  return {
    ...premises,
    ...(cohort && served(premises, cohort, plan.scalars.localSteps!)),
    steady: isSteady(given.devices),
    pattern,
    patternPeriod: periods.reduce((product, period) => product * period, turns),
    topology,
    hearing: (epoch) => (always === undefined ? hearingIn(topology(epoch)) : () => always),
  };
}

/** Of servers and clients, each exchange has its own; whom a matrix stands for is found once. */
function hearingIn({ round, mixing, cohort }: Topology): Hearing {
  if (cohort === undefined) return (gossip) => round(gossip).sources;
  const known = new WeakMap<Mixing, number[][]>();
  return (gossip, between) => {
    const by = between === undefined ? mixing(gossip) : cohort.mixing(between, gossip);
    const heard = known.get(by) ?? heardIn(by);
    known.set(by, heard);
    return heard;
  };
}

/** Servers and clients that rest compute nothing; the slowest clients are sent to first. */
function served({ compute, network }: Premises, cohort: Cohort, localSteps: number) {
  return {
    compute: (replica: number, t: number) =>
      cohort.trains(replica, Math.floor(t / localSteps)) ? compute(replica, t) : 0,
    slowness: Float64Array.from({ length: network.n }, (_, i) => (i < cohort.clients ? compute(i, 0) : 0)),
  };
}

/** Rounds that a placement goes by; of topologies that are drawn anew, or repeat late, the first. */
function heardAtFirst({ period, round }: Topology, n: number): PlainGossip['rounds'] {
  const most = Math.max(1, Math.min(period, 16, Math.floor(2000 / n)));
  return Array.from({ length: most }, (_, t) => round(t).sources);
}

/** The same where replicas average in pairs, each when it has computed. */
export function pairCourseOf(...[settings, given, tensors]: Parameters<typeof courseOf>): PairCourse {
  const { network, compute, topology } = courseOf(settings, given, tensors);
  const { plan } = planOfRun(settings);
  const unmet = unmetNeed(plan.needs, topology(0));
  if (unmet !== undefined) throw new UserError(`${plan.method.name} ${unmet.problem}`, { hint: unmet.hint });
  const { sources } = topology(0).round(0);
  const bytes = 4 * tensors.reduce((sum, { size }) => sum + size, 0);
  return {
    n: settings.replicas,
    compute,
    partner: (i, step) => sources[i]![new Random(settings.seed, 'pair', i, step).below(sources[i]!.length)]!,
    exchangeNs: exchangeTimes(network, bytes),
    overlap: plan.asynchronous!.overlap,
  };
}

/** Whom each replica hears over the edges of all sets. */
function edgeSources(sets: readonly { readonly source: Int32Array }[], n: number): number[][] {
  return Array.from({ length: n }, (_, i) =>
    sets.flatMap(({ source }) => (source[i] === i ? [] : [source[i]!])).sort((a, b) => a - b),
  );
}

/** The course of a topology that stays, for what a step comes to in the long run. */
export function constantCourse(course: RunCourse): Course {
  return { ...course, hearing: course.hearing(0), hearingPeriod: course.topology(0).period };
}
