import { topologiesOf } from '../algorithm/topology.ts';
import type { Experiment } from '../experiment/schema.ts';
import { finite } from '../metric/figures.ts';
import type { Live } from '../metric/live.ts';
import type { Run } from '../store/runs.ts';
import { type Events, readEvents } from '../store/views.ts';
import type { Topology } from '../topology/topology.ts';
import type { NetworkReport, NetworkRound, ReplicaFrame } from './report.ts';

type Column = readonly (number | null)[];

export { topologiesOf };

/** More edges than these are not drawn but sampled: the picture would be a solid disc, and slow. */
export const mostEdges = 4000;

/** Who hears whom in a round, as it is drawn: of undirected edges each once. */
export function roundOf(topology: Topology, round: number): NetworkRound {
  const { sources } = topology.round(round);
  const { directed, columns = null, period } = topology;
  const all = sources.flatMap((row, i) => row.flatMap((j) => (directed || j < i ? [[j, i] as const] : [])));
  const every = Math.ceil(all.length / mostEdges);
  return {
    kind: topology.kind,
    directed,
    columns,
    period: Number.isFinite(period) ? period : null,
    all: all.length,
    // An odd stride meets every replica of a regular topology.
    edges: all.filter((_, e) => every <= 1 || e % (every | 1) === 0).flat(),
  };
}

export interface NetworkOptions {
  /** About how many numbers the frames may hold together. */
  readonly most: number;
  /** With the norms of every tensor. */
  readonly norms?: boolean;
}

type Lists = ReadonlyMap<number, Readonly<Record<string, Column>>>;

/** A list as the database gives it: NaN and ∞, which training left that went out of bounds, come as text in it. */
const columnOf = (values: unknown): Column =>
  (values as readonly unknown[]).map((value) => (value === null ? null : finite(Number(value))));

/** Columns of a table with a row for each replica, as lists by step. */
async function listsOf(
  events: Events,
  table: string,
  columns: readonly string[],
  steps: readonly number[],
): Promise<Lists> {
  if (steps.length === 0) return new Map();
  const lists = columns.map((name) => `list(${name} order by replica) as ${name}`);
  const rows = await events.rows(`select step, ${lists} from ${table} where step in (${steps}) group by step`);
  return new Map(
    rows.map((row) => [row.step as number, Object.fromEntries(columns.map((name) => [name, columnOf(row[name])]))]),
  );
}

/** Evenly from the first to the last. */
function spread<T>(all: readonly T[], count: number): T[] {
  if (all.length <= count) return [...all];
  return Array.from({ length: count }, (_, i) => all[Math.round((i * (all.length - 1)) / Math.max(1, count - 1))]!);
}

/** Replica by replica over the steps of a stored run; null if there is nothing of it. */
export async function readNetwork(
  { experiment, database }: Run,
  options: NetworkOptions,
): Promise<NetworkReport | null> {
  const found = await readEvents(database, async (events) => {
    const { replicas, probes } = experiment;
    const probed = `step % ${probes.everySteps} = 0`;
    const known = await events.rows(`select step, epoch, round from steps where ${probed} order by step`);
    const count = Math.max(1, Math.floor(options.most / (6 * replicas)));
    // The last rather than the first, if there is only one.
    const chosen = count === 1 ? known.slice(-1) : spread(known, Math.min(count, 200));
    const steps = chosen.map(({ step }) => step as number);
    const own = await listsOf(
      events,
      'replica_steps',
      ['loss', 'accuracy', 'replica_distance', 'virtual_finished', 'own_steps'],
      steps,
    );
    const evaluated = await events.rows('select step from evaluations order by step');
    const before = (step: number) =>
      evaluated.findLast((row) => (row.step as number) <= step + 1)?.step as number | undefined;
    const tests = [...new Set(steps.flatMap((step) => before(step) ?? []))];
    const scores = await listsOf(events, 'replica_evaluations', ['replica', 'loss', 'accuracy'], tests);
    const norms = options.norms ? await readNorms(events, steps) : new Map<number, Column[]>();
    const edges = probes.edges ? await readEdges(events, steps) : new Map<number, Edges>();
    const frames = chosen.map(({ step, epoch, round }): Told => {
      const at = step as number;
      const {
        loss,
        accuracy,
        replica_distance: distance,
        virtual_finished: finished,
        own_steps: ownSteps,
      } = own.get(at)!;
      const score = scores.get(before(at) ?? -1);
      return {
        step: at,
        epoch: epoch as number,
        // Earlier versions did not record it; without consensus control it is the step.
        round: (round as number | null) ?? at,
        loss: loss!,
        accuracy: accuracy!,
        testLoss: placed(score?.replica, score?.loss, replicas),
        testAccuracy: placed(score?.replica, score?.accuracy, replicas),
        distance: measured(distance!),
        finished: measured(finished!),
        ownSteps: measured(ownSteps!),
        norms: norms.get(at) ?? null,
        edges: edges.get(at) ?? null,
      };
    });
    const [size] = await events.rows('select sum(size) as parameters from tensors');
    return networkOf(experiment, frames, Number(size?.parameters ?? 0));
  });
  return found ?? null;
}

interface Edges {
  readonly source: Column;
  readonly replica: Column;
  readonly distance: Column;
}

/** A frame whose round is counted over the whole run. */
type Told = Omit<ReplicaFrame, 'edges'> & { readonly edges: Edges | null };

/** null if there is nothing of any replica. */
const measured = (values: Column): Column | null => (values.every((value) => value === null) ? null : values);

/** A value for each replica, null for those that were not evaluated. */
function placed(replicas: Column | undefined, values: Column | undefined, n: number): Column | null {
  if (replicas === undefined || values === undefined) return null;
  const all = new Array<number | null>(n).fill(null);
  replicas.forEach((i, at) => {
    all[i!] = values[at] ?? null;
  });
  return measured(all);
}

async function readNorms(events: Events, steps: readonly number[]): Promise<Map<number, Column[]>> {
  const tensors = await events.rows('select tensor from tensors order by position');
  const rows = await events.rows(
    `select step, tensor, list(norm order by replica) as norm from norms where step in (${steps}) group by step, tensor`,
  );
  const found = new Map<string, Column>(rows.map(({ step, tensor, norm }) => [`${step} ${tensor}`, columnOf(norm)]));
  return new Map(
    steps.flatMap((step) => {
      const all = tensors.map(({ tensor }) => found.get(`${step} ${tensor}`));
      return all.length > 0 && all.every((norm) => norm !== undefined) ? [[step, all as Column[]]] : [];
    }),
  );
}

async function readEdges(events: Events, steps: readonly number[]): Promise<Map<number, Edges>> {
  const rows = await events.rows(
    `select step, list(source) as source, list(replica) as replica, list(distance) as distance from edges where step in (${steps}) group by step`,
  );
  return new Map(
    rows.map(({ step, source, replica, distance }) => [
      step as number,
      { source: columnOf(source), replica: columnOf(replica), distance: columnOf(distance) },
    ]),
  );
}

/** Of a run that is going on. */
export function liveNetwork(
  experiment: Experiment,
  { replicas: lines, evaluations, start }: Live,
  { most }: NetworkOptions,
): NetworkReport | null {
  const n = experiment.replicas;
  const frames = spread(lines, Math.max(1, Math.min(200, Math.floor(most / (6 * n))))).map((line): Told => {
    const score = evaluations.findLast(({ step }) => step <= line.step + 1);
    return {
      ...line,
      // Versions before did not tell these.
      finished: line.finished ?? null,
      ownSteps: line.ownSteps ?? null,
      testLoss: placed(score?.replicas, score?.loss, n),
      testAccuracy: placed(score?.replicas, score?.accuracy, n),
    };
  });
  const parameters = start?.tensors.reduce((sum, { size }) => sum + size, 0) ?? 0;
  return frames.length === 0 ? null : networkOf(experiment, frames, parameters);
}

/** Rounds that several frames share are there once. */
function networkOf(experiment: Experiment, told: readonly Told[], parameters: number): NetworkReport {
  const topologyIn = topologiesOf(experiment, { bytes: 4 * parameters });
  const rounds: NetworkRound[] = [];
  const known = new Map<Topology, Map<number, number>>();
  const frames = told.map((frame): ReplicaFrame => {
    const topology = topologyIn(frame.epoch);
    const own = known.get(topology) ?? new Map<number, number>();
    known.set(topology, own);
    const inPeriod = Number.isFinite(topology.period) ? frame.round % topology.period : frame.round;
    if (!own.has(inPeriod)) own.set(inPeriod, rounds.push(roundOf(topology, inPeriod)) - 1);
    const round = own.get(inPeriod)!;
    return { ...frame, round, edges: frame.edges && alongEdges(rounds[round]!, frame.edges) };
  });
  return { frames, rounds };
}

/** The distances in the order of the edges that are drawn. */
export function alongEdges({ edges }: NetworkRound, { source, replica, distance }: Edges): Column {
  const found = new Map(distance.map((each, e) => [`${source[e]} ${replica[e]}`, each]));
  return Array.from({ length: edges.length / 2 }, (_, e) => found.get(`${edges[2 * e]} ${edges[2 * e + 1]}`) ?? null);
}
