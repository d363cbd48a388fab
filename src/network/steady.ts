import { sha256Of } from '../base/content.ts';
import { largestCycleMean, type WeightedEdge } from './cycle.ts';
import type { ComputeTimes } from './devices.ts';
import { type Messages, messagesOf } from './messages.ts';
import type { Network } from './network.ts';
import type { Pattern } from './pattern.ts';
import { type Hearing, Timetable } from './timetable.ts';
import { Chronicle, criticalPath } from './trace.ts';

/** Steps of one experiment, as far as their time goes. */
export interface Course {
  readonly network: Network;
  readonly compute: ComputeTimes;
  /** By replica, if servers send to the slowest client first. */
  readonly slowness?: ArrayLike<number>;
  /** Whether every step of a replica computes as long as any other. */
  readonly steady: boolean;
  /** What step t does; the same again after `patternPeriod` steps. */
  readonly pattern: (t: number) => Pattern;
  readonly patternPeriod: number;
  readonly hearing: Hearing;
  /** Gossips until whom replicas hear repeats; ∞ if it is drawn anew. */
  readonly hearingPeriod: number;
}

/** What a step comes to in the long run. */
export interface Steady {
  /** Time per step. */
  readonly stepNs: number;
  /** Times repeat exactly after some steps; otherwise the time per step is a mean over the second half of the steps. */
  readonly exact: boolean;
  readonly steps: number;
  /** By replica: the share of its time that it does not compute. */
  readonly waiting: readonly number[];
}

/** Whether a step averages with the neighbours: whom they hear goes by the number of gossips. */
export const gossips = ({ work }: Pattern): boolean =>
  work.some((each) => each.do === 'gossip' || each.do === 'recall');

/** Messages that are carried before one gives up on an exact answer. */
const mostMessages = 1e7;

/** Follows the course until its times repeat: ports, replicas and whom they hear as some steps before, all later by the same. */
export function steadyState(course: Course, most = 4000): Steady {
  const { network, compute, patternPeriod, hearingPeriod } = course;
  let carried = 0;
  const computing = new Float64Array(network.n);
  const timetable = new Timetable(
    network,
    compute,
    {
      exchange: ({ from }: Messages) => {
        carried += from.length;
      },
      compute: (replica, start, end) => {
        computing[replica]! += end - start;
      },
    },
    undefined,
    course.slowness,
  );
  const { finished } = timetable.state;
  const canRepeat = course.steady && Number.isFinite(hearingPeriod);
  const seen = new Map<string, number>();
  const ends: number[] = [];
  let gossip = 0;
  let t = 0;
  let repeated: number | undefined;
  for (; t < most && (carried < mostMessages || t < 4) && repeated === undefined; t++) {
    const pattern = course.pattern(t);
    const first = gossip;
    timetable.step(t, pattern, (more, between) => course.hearing(first + more, between));
    if (gossips(pattern)) gossip += 1;
    ends.push(finished.reduce((a, b) => Math.max(a, b), 0));
    if (!canRepeat) continue;
    const key = `${(t + 1) % patternPeriod} ${gossip % hearingPeriod} ${shapeOf(timetable)}`;
    repeated = seen.get(key);
    seen.set(key, t);
  }
  const from = repeated ?? Math.floor(t / 2) - 1;
  const stepNs = t === 1 ? ends[0]! : (ends[t - 1]! - (ends[from] ?? 0)) / (t - 1 - from);
  const waiting = Array.from(finished, (end, i) => (end === 0 ? 0 : 1 - computing[i]! / end));
  return { stepNs, exact: repeated !== undefined, steps: t, waiting };
}

/** All times that matter, counted from the earliest replica; what lies before it counts no more. */
function shapeOf({ state: { finished, upFree, downFree, heard } }: Timetable): string {
  const first = finished.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const all = Float64Array.from([...finished, ...upFree, ...downFree, ...heard], (time) => Math.max(0, time - first));
  return sha256Of(new Uint8Array(all.buffer));
}

/** Steps that are traced for a picture or a critical cycle, and their messages at most. */
const mostTraced = 200_000;

/** The same course with all that happens written down, over some steps from the first. */
export function traced(course: Course, steps: number): { readonly trace: Chronicle; readonly finished: Float64Array } {
  const trace = new Chronicle();
  const timetable = new Timetable(course.network, course.compute, trace, undefined, course.slowness);
  let gossip = 0;
  for (let t = 0; t < steps && trace.happenings.length < mostTraced; t++) {
    const pattern = course.pattern(t);
    const first = gossip;
    timetable.step(t, pattern, (more, between) => course.hearing(first + more, between));
    if (gossips(pattern)) gossip += 1;
  }
  return { trace, finished: timetable.state.finished };
}

/** Replicas whose computing and sending to the next decides the time per step, and the steps that one way round takes. */
export interface CriticalCycle {
  readonly replicas: readonly number[];
  readonly steps: number;
}

/** By Karp, if times are constant and nothing queues: then it is exact. Otherwise where the critical path of the first steps leads round. */
export function criticalCycle(course: Course): CriticalCycle | undefined {
  const edges = constantEdges(course);
  if (edges !== undefined) {
    const { nodes } = largestCycleMean(course.network.n, edges)!;
    return { replicas: nodes, steps: nodes.length };
  }
  return tracedCycle(course);
}

/** What each replica's step waits for, and how long that takes, of a step that computes and then gossips; undefined if it is not constant. */
function constantEdges({
  network,
  compute,
  steady,
  pattern,
  patternPeriod,
  hearing,
  hearingPeriod,
}: Course): readonly WeightedEdge[] | undefined {
  const [first, second, ...more] = pattern(0).work.filter((each) => each.do !== 'local');
  const plain = first?.do === 'compute' && second?.do === 'gossip' && more.length === 0;
  if (!plain || network.sharing === 'serial' || !steady || patternPeriod * hearingPeriod !== 1 || network.n > 2000)
    return undefined;
  const { from, to, wholeNs } = messagesOf(network, hearing(0), second.bytes);
  return [
    ...Array.from({ length: network.n }, (_, i) => ({ from: i, to: i, ns: compute(i, 0) })),
    ...Array.from(from, (j, m) => ({ from: j, to: to[m]!, ns: compute(j, 0) + wholeNs[m]! })),
  ];
}

/** Where the critical path passes the same replica twice, at a like place of the course: the way round that takes longest per step. */
function tracedCycle(course: Course): CriticalCycle | undefined {
  const { trace, finished } = traced(course, 3 * course.network.n + 20);
  const path = criticalPath(trace.happenings, finished);
  // Devices that take no time to compute leave messages alone.
  const nodes = path.filter(
    ({ what }) => what === (path.some((each) => each.what === 'compute') ? 'compute' : 'message'),
  );
  const period = course.patternPeriod * (Number.isFinite(course.hearingPeriod) ? course.hearingPeriod : 1);
  let best: (CriticalCycle & { readonly mean: number }) | undefined;
  const last = new Map<string, number>();
  for (const [place, node] of nodes.entries()) {
    const key = `${node.replica} ${node.step % period}`;
    const before = last.get(key);
    last.set(key, place);
    if (before === undefined) continue;
    const steps = node.step - nodes[before]!.step;
    const mean = (node.start - nodes[before]!.start) / steps;
    if (best === undefined || mean >= best.mean)
      best = { replicas: nodes.slice(before, place).map(({ replica }) => replica), steps, mean };
  }
  return best && { replicas: best.replicas, steps: best.steps };
}
