import type { Traffic } from '../algorithm/traffic.ts';
import type { Attendance } from '../network/faults/presence.ts';
import type { Transport } from '../transport/transport.ts';
import { phases } from './clock.ts';
import type { PerReplica, PhaseMs } from './columns.ts';
import type { Controlled } from './control.ts';
import { type EdgesEvent, known, type StepEvent } from './event.ts';
import { perReplica } from './measure.ts';
import type { EpochPlan } from './plan.ts';
import type { Outcome } from './replicas.ts';
import type { StepTimes } from './virtual.ts';

/** Seconds of each replica that is there. */
export const secondsOf = (transport: Transport, ns: Float64Array | undefined): PerReplica | null =>
  ns === undefined ? null : perReplica(transport, (i) => ns[i]! / 1e9);

/** What a method tells of its own decisions. */
type Signals = Readonly<Pick<StepEvent, 'estimatedDistance' | 'threshold' | 'harm' | 'period' | 'branch'>>;
const noSignals: Signals = { estimatedDistance: null, threshold: null, harm: null, period: null, branch: null };

/** What a step leaves behind for its event. */
export class Measured {
  norms: Float64Array | undefined;
  edges: EdgesEvent | undefined;
  distance: number | null = null;
  replicaDistance: PerReplica | null = null;
  controlled: Controlled = { distance: null, target: null };
  signals: Signals = noSignals;
  gossips = 0;
  ownSteps: PerReplica | null = null;
  staleness: PerReplica | null = null;
  /** Who took part in it, if replicas come and go. */
  attendance: Attendance | undefined;
  sentBytes = 0;
  sentMessages = 0;
  virtual: StepTimes | undefined;
  /** Of the topology, with which it averages first. */
  readonly round: number;
  /** Whether its actions compute a gradient: without, there is no loss to tell. */
  trains = true;

  constructor(round: number) {
    this.round = round;
  }

  sent(...traffic: readonly Traffic[]): void {
    for (const { messages, bytes } of traffic) {
      this.sentMessages += messages;
      this.sentBytes += bytes;
    }
  }

  /** What was counted as sent was not. */
  unsent({ messages, bytes }: Traffic): void {
    this.sent({ messages: -messages, bytes: -bytes });
  }

  /** The same on every worker; nothing is told of replicas that did not train. @param phaseMs of this worker, in the order of `phases` */
  event(
    step: number,
    { stepsPerEpoch, degree, learningRate, topology: { cohort } }: EpochPlan,
    transport: Transport,
    outcomes: readonly Outcome[],
    phaseMs: readonly number[],
  ): StepEvent {
    const own = outcomes.flatMap(({ loss, accuracy, gradientNorm }) => [loss, accuracy, gradientNorm]);
    const all = transport.gather(Float64Array.from(own), 3);
    const trained = (i: number) => this.trains && (cohort === undefined || cohort.trains(i, this.round));
    const column = (c: number) =>
      perReplica(transport, (i) => all[3 * i + c]!).map((value, i) => (trained(i) ? value : null));
    const ms = transport.reduce(phaseMs);
    return {
      type: 'step',
      step,
      epoch: Math.floor(step / stepsPerEpoch),
      connections: degree,
      learningRate: learningRate(step),
      loss: column(0),
      accuracy: column(1).map((share) => known(share ?? undefined)),
      gradientNorm: column(2),
      distance: this.distance,
      replicaDistance: this.replicaDistance,
      round: this.round,
      gossips: this.gossips,
      ownSteps: this.ownSteps,
      staleness: this.staleness,
      sentBytes: this.sentBytes,
      sentMessages: this.sentMessages,
      virtualStart: secondsOf(transport, this.virtual?.started),
      virtualComputed: secondsOf(transport, this.virtual?.computed),
      virtualFinished: secondsOf(transport, this.virtual?.finished),
      controlledDistance: this.controlled.distance,
      targetDistance: this.controlled.target,
      ...this.signals,
      ms: Object.fromEntries(phases.map((phase, i) => [phase, ms[i]! / transport.workers])) as unknown as PhaseMs,
    };
  }
}
