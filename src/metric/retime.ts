import { gossipsMade, VirtualTime } from '../engine/virtual.ts';
import type { Experiment } from '../experiment/schema.ts';
import type { DeviceSettings } from '../network/devices.ts';
import type { NetworkSettings } from '../network/network.ts';
import type { Placement } from '../network/premises.ts';
import { gossips as averages } from '../network/steady.ts';
import type { Watcher } from '../network/timetable.ts';
import { Chronicle, criticalPath, type Happening, type Segment } from '../network/trace.ts';
import { LinkCounter } from '../network/usage.ts';
import { type RunSeries, type Series, shapesOf } from './series.ts';

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

/** Counts what is sent over links and how long replicas compute; some steps are written down whole. */
class Observer implements Watcher {
  readonly links: LinkCounter;
  readonly computing: Float64Array;
  chronicle: Chronicle | undefined;

  constructor(n: number) {
    this.links = new LinkCounter(n);
    this.computing = new Float64Array(n);
  }

  step(step: number): void {
    this.chronicle?.step(step);
  }

  compute(replica: number, start: number, end: number): void {
    this.computing[replica]! += end - start;
    this.chronicle?.compute(replica, start, end);
  }

  exchange(...told: Parameters<NonNullable<Watcher['exchange']>>): void {
    this.links.exchange(...told);
    this.chronicle?.exchange(...told);
  }

  mean(...told: Parameters<NonNullable<Watcher['mean']>>): void {
    this.links.mean(...told);
    this.chronicle?.mean(...(told.slice(0, 3) as [number, number, number]));
  }
}

/** What was counted, as shares of so long a time. */
export function linkUses(links: LinkCounter, totalNs: number): LinkUse[] {
  const { source = [], replica = [], bytes = [], busyNs = [] } = links.take() ?? {};
  return source.map((from, link) => ({
    from,
    to: replica[link]!,
    bytes: bytes[link]!,
    busy: totalNs === 0 ? 0 : busyNs[link]! / totalNs,
  }));
}

/** Goes through the steps of a run again, with the gossips that were recorded, on another network. */
export function retime(
  experiment: Experiment,
  { tensors, steps, stepsPerEpoch }: Pick<RunSeries, 'tensors' | 'steps' | 'stepsPerEpoch'>,
  given: { readonly network: NetworkSettings; readonly devices: DeviceSettings },
): Retimed {
  const { replicas, epochs, until } = experiment;
  const { length: count } = steps.step;
  // The last step may differ from others. Of a run that ended within its first epoch none was planned to be the last, unless that was all.
  const planned =
    stepsPerEpoch === null ? (until === undefined ? count : Number.POSITIVE_INFINITY) : epochs * stepsPerEpoch;
  const observer = new Observer(replicas);
  const virtual = new VirtualTime(experiment, given, shapesOf({ tensors }), planned, observer);
  const { finished } = virtual;
  const seconds = new Float64Array(count);
  const from = Math.floor(Math.max(0, count - tracedSteps) / 2);
  const chronicle = new Chronicle();
  let path: readonly Segment[] = [];
  let round = 0;
  for (let index = 0; index < count; index++) {
    const [t, epoch, gossips] = [steps.step[index]!, steps.epoch[index]!, steps.gossips[index]!];
    const branch = Number.isNaN(steps.branch[index]) ? undefined : steps.branch[index]!;
    observer.chronicle = index >= from && index < from + tracedSteps ? chronicle : undefined;
    const timed = { t, epoch, round, gossips, measured: !Number.isNaN(steps.controlledDistance[index]), branch };
    virtual.step(timed);
    if (averages(virtual.course.pattern(t, branch))) round += gossipsMade(timed);
    seconds[index] = virtual.lastNs / 1e9;
    if (index === from + tracedSteps - 1 || index === count - 1)
      if (path.length === 0) path = criticalPath(chronicle.happenings, finished);
  }
  return {
    seconds,
    waiting: Array.from(finished, (end, i) => (end === 0 ? 0 : 1 - observer.computing[i]! / end)),
    links: linkUses(observer.links, virtual.lastNs),
    happenings: chronicle.happenings,
    path,
    placement: virtual.course.placement ?? null,
  };
}
