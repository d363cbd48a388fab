import { sha256Of } from '../base/content.ts';
import type { ComputeTimes } from './devices.ts';
import type { Messages } from './messages.ts';
import type { Network } from './network.ts';
import type { Pattern } from './pattern.ts';
import { type Hearing, Timetable } from './timetable.ts';
import { Chronicle, criticalPath, type Segment } from './trace.ts';

/** Steps of one experiment, as far as their time goes. */
export interface Course {
  readonly network: Network;
  readonly compute: ComputeTimes;
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
  /** Replicas whose computing and sending to the next decides the time per step, and the steps that one way round takes. */
  readonly cycle: { readonly replicas: readonly number[]; readonly steps: number } | undefined;
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
  const timetable = new Timetable(network, compute, {
    exchange: ({ from }: Messages) => {
      carried += from.length;
    },
    compute: (replica, start, end) => {
      computing[replica]! += end - start;
    },
  });
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
    timetable.step(t, pattern, (more) => course.hearing(first + more));
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
  return { stepNs, exact: repeated !== undefined, steps: t, cycle: cycleOf(course), waiting };
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
  const timetable = new Timetable(course.network, course.compute, trace);
  let gossip = 0;
  for (let t = 0; t < steps && trace.happenings.length < mostTraced; t++) {
    const pattern = course.pattern(t);
    const first = gossip;
    timetable.step(t, pattern, (more) => course.hearing(first + more));
    if (gossips(pattern)) gossip += 1;
  }
  return { trace, finished: timetable.state.finished };
}

/** Where the critical path passes the same replica twice, at a like place of the course: the way round that takes longest per step. */
function cycleOf(course: Course): Steady['cycle'] {
  const { trace, finished } = traced(course, 3 * course.network.n + 20);
  const nodes = criticalPath(trace.happenings, finished).filter(({ what }) => what === 'compute');
  const period = course.patternPeriod * (Number.isFinite(course.hearingPeriod) ? course.hearingPeriod : 1);
  let best: { readonly replicas: readonly number[]; readonly steps: number; readonly mean: number } | undefined;
  const last = new Map<string, number>();
  nodes.forEach((node, place) => {
    const key = `${node.replica} ${node.step % period}`;
    const before = last.get(key);
    last.set(key, place);
    if (before === undefined) return;
    const found = nodes.slice(before, place);
    const mean = (node.start - nodes[before]!.start) / (node.step - nodes[before]!.step);
    if (best === undefined || mean >= best.mean)
      best = { replicas: found.map(({ replica }: Segment) => replica), steps: node.step - nodes[before]!.step, mean };
  });
  return best && { replicas: best.replicas, steps: best.steps };
}
