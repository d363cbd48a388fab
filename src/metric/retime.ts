import { courseOf } from '../engine/course.ts';
import type { Experiment } from '../experiment/schema.ts';
import type { DeviceSettings } from '../network/devices.ts';
import type { NetworkSettings } from '../network/network.ts';
import type { Placement } from '../network/premises.ts';
import { gossips as averages } from '../network/steady.ts';
import { Timetable, type Watcher } from '../network/timetable.ts';
import { Chronicle, criticalPath, type Happening, type Segment } from '../network/trace.ts';
import type { RunSeries, Series } from './series.ts';

/** A link between two replicas over a run. */
export interface LinkUse {
  readonly from: number;
  readonly to: number;
  readonly bytes: number;
  /** Share of the run's time that a port was busy with it. */
  readonly busy: number;
}

/** A stored run on a network, without training again. */
export interface Retimed {
  /** By step: when the last replica had finished it, in seconds. */
  readonly seconds: Series;
  /** By replica: the share of its time that it did not compute. */
  readonly waiting: readonly number[];
  readonly links: readonly LinkUse[];
  /** What happened in a few steps in the middle of the run, and what decided their end. */
  readonly happenings: readonly Happening[];
  readonly path: readonly Segment[];
  /** If replicas are not on the devices as listed. */
  readonly placement: Placement | null;
}

const tracedSteps = 4;

/** What is sent over each link, and how long that keeps a port. */
class Links implements Watcher {
  readonly #bytes: Float64Array;
  readonly #busyNs: Float64Array;
  readonly #n: number;
  readonly computing: Float64Array;
  /** Is told too, for some steps. */
  chronicle: Chronicle | undefined;

  constructor(n: number) {
    this.#n = n;
    this.#bytes = new Float64Array(n * n);
    this.#busyNs = new Float64Array(n * n);
    this.computing = new Float64Array(n);
  }

  step(step: number): void {
    this.chronicle?.step(step);
  }

  compute(replica: number, start: number, end: number): void {
    this.computing[replica]! += end - start;
    this.chronicle?.compute(replica, start, end);
  }

  exchange(...[messages, times]: Parameters<NonNullable<Watcher['exchange']>>): void {
    const { from, to, bytes } = messages;
    for (let m = 0; m < from.length; m++) {
      const link = from[m]! * this.#n + to[m]!;
      this.#bytes[link]! += bytes;
      this.#busyNs[link]! += times.left[m]! - times.start[m]!;
    }
    this.chronicle?.exchange(messages, times);
  }

  /** A mean counts as one around a ring: all ways to make it send as much. */
  mean(start: number, end: number, bytes: number): void {
    const n = this.#n;
    for (let i = 0; i < n && n > 1; i++) {
      const link = i * n + ((i + 1) % n);
      this.#bytes[link]! += (2 * (n - 1) * bytes) / n;
      this.#busyNs[link]! += end - start;
    }
    this.chronicle?.mean(start, end, bytes);
  }

  used(totalNs: number): LinkUse[] {
    return Array.from(this.#bytes, (bytes, link) => ({
      from: Math.floor(link / this.#n),
      to: link % this.#n,
      bytes,
      busy: totalNs === 0 ? 0 : this.#busyNs[link]! / totalNs,
    })).filter(({ bytes }) => bytes > 0);
  }
}

/** Goes through the steps of a run again, with the gossips that were recorded, on another network. */
export function retime(
  experiment: Experiment,
  { tensors, steps, stepsPerEpoch }: Pick<RunSeries, 'tensors' | 'steps' | 'stepsPerEpoch'>,
  given: { readonly network: NetworkSettings; readonly devices: DeviceSettings },
): Retimed {
  const { replicas } = experiment;
  const { length: count } = steps.step;
  const planned = stepsPerEpoch === null ? count : experiment.epochs * stepsPerEpoch;
  const sizes = tensors.map(({ size }) => size);
  const course = courseOf(experiment, given, sizes, planned);
  const links = new Links(replicas);
  const timetable = new Timetable(course.network, course.compute, links);
  const { finished } = timetable.state;
  const seconds = new Float64Array(count);
  const from = Math.floor(Math.max(0, count - tracedSteps) / 2);
  const chronicle = new Chronicle();
  let path: readonly Segment[] = [];
  let gossip = 0;
  for (let index = 0; index < count; index++) {
    const [t, first] = [steps.step[index]!, gossip];
    const pattern = course.pattern(t);
    const made = Math.max(1, steps.gossips[index]!);
    const hearing = course.hearing(steps.epoch[index]!);
    links.chronicle = index >= from && index < from + tracedSteps ? chronicle : undefined;
    timetable.step(t, pattern, (more) => hearing(first + more), made, !Number.isNaN(steps.controlledDistance[index]));
    if (averages(pattern)) gossip += made;
    seconds[index] = finished.reduce((most, time) => Math.max(most, time), 0) / 1e9;
    if (index === from + tracedSteps - 1 || index === count - 1)
      if (path.length === 0) path = criticalPath(chronicle.happenings, finished);
  }
  const total = finished.reduce((most, time) => Math.max(most, time), 0);
  return {
    seconds,
    waiting: Array.from(finished, (end, i) => (end === 0 ? 0 : 1 - links.computing[i]! / end)),
    links: links.used(total),
    happenings: chronicle.happenings,
    path,
    placement: course.placement ?? null,
  };
}
