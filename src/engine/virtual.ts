import type { DeviceSettings } from '../network/devices.ts';
import { downloadNs, Faults, receptionOf } from '../network/faults/faults.ts';
import type { Attendance } from '../network/faults/presence.ts';
import type { NetworkSettings } from '../network/network.ts';
import type { PairTask } from '../network/queue.ts';
import { Timetable, type TimetableState, type Watcher } from '../network/timetable.ts';
import type { LinkCounter } from '../network/usage.ts';
import type { Times } from './checkpoint.ts';
import { courseOf, type RunCourse, type Shaped, type TimedSettings } from './course.ts';

/** What a step was, as far as its time depends on it. */
export interface TimedStep {
  readonly t: number;
  readonly epoch: number;
  /** The number of its first gossip, which decides who hears whom, and how many there were. */
  readonly round: number;
  readonly gossips: number;
  /** Whether consensus control measured the distance. */
  readonly measured: boolean;
  /** Which conditions of its method held that hang on numbers, if there are any. */
  readonly branch?: number | undefined;
}

/** Only control that measures the distance can find that none is needed; runs without gossip count none either. */
export const gossipsMade = ({ gossips, measured }: Pick<TimedStep, 'gossips' | 'measured'>): number =>
  measured ? gossips : Math.max(1, gossips);

/** Of the last step, by replica in nanoseconds: when it began, when it had computed, when it was finished. */
export interface StepTimes {
  readonly started: Float64Array;
  readonly computed: Float64Array;
  readonly finished: Float64Array;
  /** When the last replica was finished. */
  readonly lastNs: number;
}

const latest = (times: Float64Array) => times.reduce((most, time) => Math.max(most, time), 0);

/** Times as a checkpoint holds them. */
const plain = (times: object): Times =>
  Object.fromEntries(Object.entries(times as Record<string, Float64Array>).map(([name, ns]) => [name, [...ns]]));

/**
 * When replicas begin and finish the steps of a run on its network: a pure function of its settings, the same on every worker and whenever
 * it is computed. Real failures of ranks are none of its business: their replicas go on in it.
 */
export class VirtualTime implements StepTimes {
  readonly course: RunCourse;
  /** What goes wrong, if something does. */
  readonly faults: Faults | undefined;
  /** Messages of the last gossip that were not heard, by sender · n + receiver. */
  missed: ReadonlySet<number> = new Set();
  readonly #timetable: Timetable;
  /** The step whose attendance is known. */
  #begun = -1;

  /** @param steps of the whole run: the last one may differ */
  constructor(
    settings: TimedSettings,
    given: { readonly network: NetworkSettings; readonly devices: DeviceSettings },
    tensors: readonly Shaped[],
    steps: number,
    watcher: Watcher = {},
  ) {
    this.course = courseOf(settings, given, tensors, steps);
    const { faults, replicas: n, seed } = settings;
    this.faults = faults && new Faults(faults, { n, seed });
    const watched = faults?.wait.kind === 'timeout' || faults?.wait.kind === 'quorum' ? this.#noting(watcher) : watcher;
    const reception = faults && receptionOf(faults);
    const { network, compute, slowness } = this.course;
    this.#timetable = new Timetable(network, compute, watched, reception, slowness);
  }

  /** Who takes part in step t, whose first gossip has this number. */
  begin(t: number, epoch: number, round: number): Attendance | undefined {
    this.#begun = t;
    const { network, compute, pattern, hearing } = this.course;
    const { work, rowBytes } = pattern(t);
    const computes = work.filter((each) => each.do === 'compute').length;
    return this.faults?.begin(t, hearing(epoch)(round), {
      finished: this.finished,
      compute: (i) => computes * compute(i, t),
      downloadNs: (i, from) => downloadNs(network, i, from, rowBytes),
    });
  }

  step(timed: TimedStep): void {
    const { t, epoch, round, measured, branch } = timed;
    if (this.#begun !== t) this.begin(t, epoch, round);
    const { faults } = this;
    const heard = this.course.hearing(epoch);
    const hearing: typeof heard =
      faults === undefined ? heard : (gossip, between) => faults.sent(heard(gossip, between));
    const troubles = faults?.troubles((more) => ({ gossip: round + more, sources: heard(round + more) }));
    const pattern = this.course.pattern(t, branch);
    this.#timetable.step(
      t,
      pattern,
      (more, between) => hearing(round + more, between),
      gossipsMade(timed),
      measured,
      troubles,
    );
  }

  /** A watcher that also notes which messages were not heard. */
  #noting(watcher: Watcher): Watcher {
    return {
      compute: (...told) => watcher.compute?.(...told),
      mean: (...told) => watcher.mean?.(...told),
      step: (t) => watcher.step?.(t),
      exchange: (messages, times) => {
        const { from, to } = messages;
        const missed = new Set<number>();
        for (let m = 0; m < from.length; m++)
          if (times.heard[m] === 0) missed.add(from[m]! * this.course.network.n + to[m]!);
        this.missed = missed;
        watcher.exchange?.(messages, times);
      },
    };
  }

  get started(): Float64Array {
    return this.#timetable.started;
  }

  get computed(): Float64Array {
    return this.#timetable.computed;
  }

  get finished(): Float64Array {
    return this.#timetable.state.finished;
  }

  get lastNs(): number {
    return latest(this.finished);
  }

  get state(): Times {
    return plain(this.#timetable.state);
  }

  set state(state: Times) {
    this.#timetable.restore(state as Record<keyof TimetableState, readonly number[]>);
  }
}

/** The times of replicas that average in pairs. A step ends for all of them with the last of its exchanges. */
export class PairTimes implements StepTimes {
  readonly started: Float64Array;
  readonly computed: Float64Array;
  readonly finished: Float64Array;

  constructor(n: number) {
    [this.started, this.computed, this.finished] = [new Float64Array(n), new Float64Array(n), new Float64Array(n)];
  }

  /** @param bytes of a row, which each of both sends the other */
  step(tasks: readonly PairTask[], bytes: number, links: LinkCounter): void {
    this.started.set(this.finished);
    for (const task of tasks) {
      this.finished.fill(task.time);
      if (task.do === 'begin') continue;
      const { replica, partner, from, time, computed } = task;
      this.computed[replica] = computed;
      links.message(replica, partner, bytes, time - from);
      links.message(partner, replica, bytes, time - from);
    }
  }

  get lastNs(): number {
    return latest(this.finished);
  }

  get state(): Times {
    return plain({ computed: this.computed, finished: this.finished });
  }

  set state({ computed, finished }: Times) {
    this.computed.set(computed!);
    this.finished.set(finished!);
  }
}
