import { UserError } from '../base/error.ts';
import type { ComputeTimes } from './devices.ts';
import { Heap } from './heap.ts';
import type { Network } from './network.ts';
import type { Steady } from './steady.ts';
import { mostNs, transferNs } from './units.ts';

/** What happens when replicas average in pairs and nobody waits for all, in the order of virtual time (nanoseconds). */
export type PairTask =
  /** The replica begins the gradient of its own step at its parameters as they are now. */
  { readonly do: 'begin'; readonly replica: number; readonly step: number; readonly time: number } | Exchange;

/** Two replicas take their mean, and the first one then applies the gradient of its own step. */
export interface Exchange {
  readonly do: 'exchange';
  readonly replica: number;
  readonly partner: number;
  readonly step: number;
  /** When it had computed the gradient, and when both were free. */
  readonly computed: number;
  readonly from: number;
  /** When the exchange ends. */
  readonly time: number;
  /** How often the parameters of the replica changed since it began this gradient. */
  readonly staleness: number;
}

export interface PairCourse {
  readonly n: number;
  readonly compute: ComputeTimes;
  /** With whom a replica averages after a step of its own. */
  partner(replica: number, step: number): number;
  /** How long an exchange takes. */
  exchangeNs(replica: number, partner: number): number;
  /** Whether a replica computes its next gradient while it exchanges. */
  readonly overlap: boolean;
}

/** A replica has computed a step, or its exchange after it ends. */
type Event =
  | { readonly time: number; readonly replica: number; readonly step: number }
  | Omit<Exchange, 'do' | 'staleness'>;

/** All that what comes next depends on: plain data, for a checkpoint. */
export interface QueueState {
  readonly events: readonly Event[];
  /** When each replica can exchange again. */
  readonly free: readonly number[];
  /** Steps of its own that each replica has begun, computed, applied. */
  readonly begun: readonly number[];
  readonly computed: readonly number[];
  readonly applied: readonly number[];
  /** How often the parameters of each replica changed, and had changed when it began its last two steps. */
  readonly changes: readonly number[];
  readonly marks: readonly number[];
}

const perReplica = ['free', 'begun', 'computed', 'applied', 'changes'] as const;

/** Whether something that was read is the state of a queue of n replicas. */
export function isQueueState(given: unknown, n: number): given is QueueState {
  const state = given as QueueState | null | undefined;
  const times = (list: unknown, count: number) =>
    Array.isArray(list) && list.length === count && list.every((value) => Number.isSafeInteger(value) && value >= 0);
  return (
    Array.isArray(state?.events) &&
    state.events.length >= n &&
    state.events.every((event) => times([event?.time, event?.replica, event?.step], 3) && event.replica < n) &&
    perReplica.every((name) => times(state[name], n)) &&
    times(state.marks, 2 * n)
  );
}

const isExchange = (event: Event) => 'partner' in event;

/** By time, then by replica; of one replica, what ends comes first. */
const earlier = (a: Event, b: Event): boolean =>
  a.time !== b.time
    ? a.time < b.time
    : a.replica !== b.replica
      ? a.replica < b.replica
      : isExchange(a) !== isExchange(b)
        ? isExchange(a)
        : a.step < b.step;

/**
 * Asynchronous decentralized SGD (AD-PSGD, Lian, Zhang, Zhang, Liu, ICML 2018) as a queue of events. A replica that has computed takes a neighbour; their
 * exchange begins when both are free and takes both at once, in the order of the queue, so that nobody can wait in a circle. When it ends both have
 * the mean, and the replica applies its gradient and begins the next one; the neighbour's gradient goes on from where it began. With overlap the
 * next gradient begins at once, unless the exchange before is still waiting.
 */
export class PairQueue {
  readonly #course: PairCourse;
  readonly #events = new Heap<Event>(earlier);
  readonly #free: Float64Array;
  readonly #begun: Float64Array;
  readonly #computed: Float64Array;
  readonly #applied: Float64Array;
  readonly #changes: Float64Array;
  readonly #marks: Float64Array;

  /** At time 0 all replicas begin their first step. */
  constructor(course: PairCourse) {
    const { n, compute } = course;
    this.#course = course;
    [this.#free, this.#computed, this.#applied, this.#changes] = [0, 1, 2, 3].map(() => new Float64Array(n)) as [
      Float64Array,
      Float64Array,
      Float64Array,
      Float64Array,
    ];
    this.#begun = new Float64Array(n).fill(1);
    this.#marks = new Float64Array(2 * n);
    for (let i = 0; i < n; i++) this.#events.push({ time: compute(i, 0), replica: i, step: 0 });
  }

  /** Steps of its own that a replica has applied. */
  applied(replica: number): number {
    return this.#applied[replica]!;
  }

  get state(): QueueState {
    return {
      events: this.#events.items,
      free: [...this.#free],
      begun: [...this.#begun],
      computed: [...this.#computed],
      applied: [...this.#applied],
      changes: [...this.#changes],
      marks: [...this.#marks],
    };
  }

  set state(state: QueueState) {
    this.#events.items = state.events;
    this.#free.set(state.free);
    this.#begun.set(state.begun);
    this.#computed.set(state.computed);
    this.#applied.set(state.applied);
    this.#changes.set(state.changes);
    this.#marks.set(state.marks);
  }

  /** What happens until so many more exchanges have ended. */
  take(exchanges: number): PairTask[] {
    const tasks: PairTask[] = [];
    for (let left = exchanges; left > 0; ) {
      const event = this.#events.pop();
      if (isExchange(event)) {
        tasks.push(this.#end(event));
        left -= 1;
      } else this.#meet(event);
      const begun = this.#begin(event.replica, event.time);
      if (begun !== undefined) tasks.push(begun);
    }
    return tasks;
  }

  /** Takes a neighbour: both are taken from when both are free. */
  #meet({ replica, step, time: computed }: Event): void {
    const { partner: partnerOf, exchangeNs } = this.#course;
    const partner = partnerOf(replica, step);
    const from = Math.max(computed, this.#free[replica]!, this.#free[partner]!);
    const time = from + exchangeNs(replica, partner);
    if (!(time <= mostNs))
      throw new UserError(
        `an exchange of replica ${replica} would end after more than 104 days, the longest time that can be told exactly (2^53 ns)`,
        { hint: 'use a faster network or device, or fewer steps' },
      );
    this.#free[replica] = this.#free[partner] = time;
    this.#computed[replica]! += 1;
    this.#events.push({ replica, partner, step, computed, from, time });
  }

  #end(event: Omit<Exchange, 'do' | 'staleness'>): Exchange {
    const { replica, partner, step } = event;
    const staleness = this.#changes[replica]! - this.#marks[this.#mark(replica, step)]!;
    this.#changes[replica]! += 1;
    this.#changes[partner]! += 1;
    this.#applied[replica]! += 1;
    return { do: 'exchange', ...event, staleness };
  }

  /** Its next step, if it has computed the one before and not more than one is still to be applied. */
  #begin(replica: number, time: number): PairTask | undefined {
    const step = this.#begun[replica]!;
    const ahead = this.#course.overlap ? 1 : 0;
    if (this.#computed[replica]! < step || this.#applied[replica]! + ahead < step) return undefined;
    this.#begun[replica] = step + 1;
    this.#marks[this.#mark(replica, step)] = this.#changes[replica]!;
    this.#events.push({ time: time + this.#course.compute(replica, step), replica, step });
    return { do: 'begin', replica, step, time };
  }

  #mark(replica: number, step: number): number {
    return 2 * replica + (step % 2);
  }
}

/** What a step, as many exchanges as there are replicas, comes to in the long run: the mean over the second half of these. */
export function steadyPairs(course: PairCourse, steps = 400): Steady {
  const { n, compute } = course;
  const queue = new PairQueue(course);
  const endOf = (tasks: readonly PairTask[]) => tasks.at(-1)!.time;
  const half = endOf(queue.take(Math.floor(steps / 2) * n));
  const tasks = queue.take(Math.ceil(steps / 2) * n);
  const ns = endOf(tasks) - half;
  const computing = new Float64Array(n);
  for (const task of tasks) if (task.do === 'exchange') computing[task.replica]! += compute(task.replica, task.step);
  const waiting = Array.from(computing, (each) => (ns === 0 ? 0 : Math.max(0, 1 - each / ns)));
  return { stepNs: ns / Math.ceil(steps / 2), exact: false, steps, waiting };
}

/** How long two replicas take to hear each other's row: the longer of both ways, each as if nothing else were sent. */
export function exchangeTimes(network: Network, bytes: number): PairCourse['exchangeNs'] {
  const known = new Map<number, number>();
  // Of replicas that are pipelines, each stage exchanges its part of the row.
  const oneWay = (from: number, to: number) => {
    const ways = network.ways(from, to);
    const times = ways.map(({ latencyNs, rate, up, down }) => {
      const slowest = Math.min(rate, network.upRates[up]!, network.downRates[down]!);
      return network.overheadNs + latencyNs + transferNs(bytes / ways.length, slowest);
    });
    return Math.max(...times);
  };
  return (i, j) => {
    const key = Math.min(i, j) * network.n + Math.max(i, j);
    const ns = known.get(key) ?? Math.max(oneWay(i, j), oneWay(j, i));
    known.set(key, ns);
    return ns;
  };
}
