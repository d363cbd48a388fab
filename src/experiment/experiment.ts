import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { nameOf as algorithmName, filledFor, planFor } from '../algorithm/choose.ts';
import { problemsOfServers } from '../algorithm/cohort.ts';
import { factsOf, peersOf } from '../algorithm/facts.ts';
import { fitting } from '../algorithm/fits.ts';
import { unmetNeed } from '../algorithm/needs.ts';
import { told, UserError } from '../base/error.ts';
import { problemError, problemsOf } from '../base/schema.ts';
import { withMethod, withRounds } from '../module/load.ts';
import { optimizerSchema } from '../optim/optimizer.ts';
import { type Schedule, topologyAt } from '../topology/schedule.ts';
import { buildTopology } from '../topology/topology.ts';
import { problemsOfFaults, withFaults } from './faults.ts';
import { locate, pinned } from './files.ts';
import { problemsOfTime, withNetwork } from './network.ts';
import { type Data, isData, pathPattern, setAt } from './path.ts';
import { withProbes } from './probes.ts';
import { type Experiment, experimentSchema, runSchema } from './schema.ts';
import { extended, findExperiment, merge, parseText, readSettings } from './source.ts';
import { maxRuns, type Point, pointCount, pointsOf, pointText, sweepSchema } from './sweep.ts';

/**
 * Sets `a.b[0].c=value` of `--set`; the value is read as YAML, so numbers, lists and true/false work. Paths of files count from the
 * working directory, where the command is given.
 */
export function override(data: unknown, assignment: string): unknown {
  const equals = assignment.indexOf('=');
  const path = assignment.slice(0, equals).trim();
  if (equals < 1 || !pathPattern.test(path))
    throw new UserError(`--set ${assignment}: expected path=value`, {
      hint: 'as in --set topology.kind=torus or --set compare[0].name=a',
    });
  if (/^extends\b/.test(path)) throw new UserError('--set extends: only a file can say what it extends');
  const value = parseText(assignment.slice(equals + 1), `--set ${path}`);
  const key = path.slice(path.lastIndexOf('.') + 1);
  return setAt(data, path, locate(value, process.cwd(), key), `--set ${path}`);
}

type Settings = z.output<typeof runSchema>;

/** What is wrong with topologies that were built before: runs of a sweep share them, and large ones take seconds. */
type Built = Map<string, string | undefined>;

/** What single settings cannot show: whether they fit together. */
function inconsistencies(experiment: Settings, built: Built): string[] {
  const { topology, replicas, epochs, algorithm, consensus, optimizer } = experiment;
  const ofServers = problemsOfServers(algorithm, {
    replicas,
    timed: experiment.network !== undefined,
    faulty: experiment.faults !== undefined,
  });
  const problems = [...problemsOfTime(experiment), ...problemsOfFaults(experiment), ...ofServers];
  const name = algorithmName(algorithm);
  const { usesTopology, usesOptimizer, setsMomentum, controllable, keepsReplicasEqual, asynchronous } =
    factsOf(algorithm);
  if (consensus.kind !== 'none' && !controllable)
    problems.push(
      `consensus: there is nothing to control, the ${name} algorithm ${keepsReplicasEqual ? 'keeps all replicas equal' : 'has no plain average of the parameters to repeat'}; use kind none`,
    );
  if (!usesOptimizer && !isDeepStrictEqual(optimizer, optimizerSchema.parse({ kind: 'sgd' })))
    problems.push(
      `optimizer: the ${name} algorithm has a rule of its own; leave the optimizer out (its settings: dbench algorithm show ${'path' in algorithm ? algorithm.path : name})`,
    );
  if (asynchronous && experiment.network === undefined)
    problems.push(
      `algorithm: in ${name} the time that replicas take decides who averages with whom; give network, as in network: lan, and devices, as in devices: { compute: 20ms }`,
    );
  if (setsMomentum && optimizer.kind !== 'sgd')
    problems.push(`optimizer: the ${name} algorithm shares the momentum of sgd, which ${optimizer.kind} does not have`);
  if ('from' in consensus && consensus.to !== undefined && consensus.to <= consensus.from)
    problems.push(`consensus.to: must be above consensus.from = ${consensus.from}, got ${consensus.to}`);
  if (!usesTopology || ofServers.length > 0) return problems;
  for (const epoch of epochsToCheck(topology, epochs)) {
    const key = JSON.stringify([topology, replicas, epochs, experiment.seed, epoch, algorithm]);
    if (!built.has(key)) built.set(key, problemOfTopology(experiment, epoch));
    const problem = built.get(key);
    if (problem !== undefined) return [...problems, problem];
  }
  return problems;
}

/** Ada's topologies are between its first and its last: whoever can build these two can build all. */
function epochsToCheck(topology: Schedule, epochs: number): readonly number[] {
  if (topology.kind === 'ada') return epochs > 1 ? [0, epochs - 1] : [0];
  if (!('phases' in topology)) return [0];
  const { phases } = topology as { readonly phases: readonly { readonly from: number }[] };
  return phases.map(({ from }) => from).filter((from) => from < epochs);
}

function problemOfTopology({ topology, epochs, seed, algorithm, ...run }: Settings, epoch: number): string | undefined {
  try {
    const replicas = peersOf({ algorithm, replicas: run.replicas });
    const at = (epoch: number) => topologyAt(topology, replicas, epoch, epochs);
    const changes = !isDeepStrictEqual(at(epoch), at(epochs - 1));
    const { needs } = planFor(algorithm);
    const built = buildTopology(at(epoch), replicas, seed);
    const unmet = unmetNeed(needs, built, changes);
    if (unmet === undefined) return undefined;
    return `topology: the ${algorithmName(algorithm)} algorithm ${unmet.problem}; ${unmet.hint}; ${fitting(needs, built, changes)}`;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return `topology: ${told(error)}`;
  }
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}

/** Settings at a point of a sweep: what is swept holds for every variant. */
const moved = (settings: unknown, point: Point): unknown =>
  point.reduce((data, [path, value]) => setAt(data, path, value, path), settings);

export interface PlanOptions {
  /** Whether data files are read for their SHA-256, by which their runs are known: about a second per GB, once per process. */
  readonly hashData?: boolean;
}

/** Checks one run's settings; problems are collected, not thrown. */
function check(
  settings: unknown,
  { hashData = true, built }: PlanOptions & { readonly built: Built },
  point: Point = [],
): { run: Experiment } | { problems: string[] } {
  try {
    const result = problemsOf(runSchema, moved(settings, point));
    if ('problems' in result) return result;
    const { data, model, seed, epochs, optimizer } = result.value;
    const algorithm = withMethod(result.value.algorithm);
    // What is wrong with the number of servers is told with the rest.
    const peers = Math.min(peersOf({ ...result.value, algorithm }), result.value.replicas);
    const topology = withRounds(pinned(result.value.topology), peers, seed);
    const run = {
      ...withProbes(withFaults(withNetwork(result.value))),
      data: hashData ? pinned(data) : data,
      model: pinned(model),
      topology,
      algorithm: filledFor(algorithm, {
        replicas: result.value.replicas,
        momentum: 'momentum' in optimizer ? optimizer.momentum : 0,
        topology: () => buildTopology(topologyAt(topology, peers, 0, epochs), peers, seed),
      }),
    };
    const problems = inconsistencies(run, built);
    return problems.length > 0 ? { problems } : { run: frozen(run) as Experiment };
  } catch (error) {
    if (error instanceof UserError) return { problems: [told(error)] };
    throw error;
  }
}

/** One run of an experiment file. */
export interface Planned {
  readonly experiment: Experiment;
  /** Where in the sweep; empty without one. */
  readonly point: Point;
}

/**
 * The runs of an experiment, with all defaults filled in: the variants under `compare`, or the one the file describes, at every point
 * of its `sweep`. Every problem of every run is reported, those they share only once.
 */
export function plan(data: unknown, where: string, given: PlanOptions = {}): readonly Planned[] {
  const options = { ...given, built: new Map() };
  const whole = problemsOf(experimentSchema, data);
  if (!isData(data)) throw problemError(where, 'problems' in whole ? whole.problems : []);
  const { compare, sweep, ...base } = data;
  // With a sweep only its points need to fit together.
  const first = 'problems' in whole || sweep !== undefined ? whole : check(base, options);
  const told = new Map('problems' in first ? first.problems.map((problem) => [problem, problem]) : []);
  const tell = (context: string, who: string, problems: readonly string[]) => {
    for (const problem of problems)
      if (!told.has(problem) && !told.has(who + problem)) told.set(who + problem, context + who + problem);
  };
  // Without a sound list of variants, or a sound sweep, there is nothing to lay on what.
  const variants = Array.isArray(compare) && compare.every(isData) ? compare : [];
  const names = variants.map((variant) => variant.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    tell('', 'compare: ', [`the name ${JSON.stringify(twice)} is used twice; every run needs its own`]);
  const grid = problemsOf(sweepSchema, sweep);
  const axes = 'value' in grid ? grid.value : {};
  const count = pointCount(axes) * Math.max(1, variants.length);
  if (count > maxRuns) {
    tell('', 'sweep: ', [`${large(count)} runs are too many; give fewer values, for at most ${large(maxRuns)} runs`]);
    throw problemError(where, [...told.values()]);
  }
  const planned = pointsOf(axes).flatMap((point) => {
    const runs = (variants.length === 0 ? [{}] : variants).map((variant) =>
      check(merge(base, variant), options, point),
    );
    const problems = runs.map((run) => ('problems' in run ? run.problems : []));
    const context = point.length === 0 ? '' : `sweep (${pointText(point)}): `;
    const inAll = problems[0]!.filter((problem) => problems.every((others) => others.includes(problem)));
    if (point.length > 0) tell(context, '', inAll);
    for (const [index, variant] of variants.entries())
      tell(context, `compare[${index}] (${nameOf(variant)}): `, problems[index]!);
    return runs.flatMap((run) => ('run' in run ? [{ experiment: run.run, point }] : []));
  });
  if (told.size > 0) throw problemError(where, [...told.values()]);
  return planned;
}

const nameOf = ({ name }: Data) => (typeof name === 'string' ? name : JSON.stringify(name));
const large = (count: number) => count.toLocaleString('en-US');

/** `ring, torus at 3 points of the sweep`: the variants, at most so many by name. */
export function planText(planned: readonly Planned[], most = Number.POSITIVE_INFINITY): string {
  const { point } = planned[0]!;
  const names = planned.flatMap((each) => (each.point === point ? [each.experiment.name] : []));
  const named = names.length > most ? [...names.slice(0, most - 1), `${names.length - most + 1} more`] : names;
  const where = point.length === 0 ? '' : ` at ${large(planned.length / names.length)} points of the sweep`;
  return `${named.join(', ')}${where}`;
}

const runsOf = (planned: readonly Planned[]) => frozen(planned.map(({ experiment }) => experiment));

/** As `plan`, without the points; paths of files count from the working directory. */
export function resolve(data: unknown, where: string): readonly Experiment[] {
  const folder = process.cwd();
  return runsOf(plan(extended(locate(data, folder), where, folder), where));
}

/**
 * Reads an experiment by path or name, applies `--set` overrides, checks everything. Paths in the file count from its folder.
 */
export function loadPlan(
  word: string,
  overrides: readonly string[] = [],
  options: PlanOptions = {},
): readonly Planned[] {
  const data = readSettings(findExperiment(word), word);
  return plan(overrides.reduce(override, data), word, options);
}

export const loadExperiment = (
  word: string,
  overrides: readonly string[] = [],
  options: PlanOptions = {},
): readonly Experiment[] => runsOf(loadPlan(word, overrides, options));
