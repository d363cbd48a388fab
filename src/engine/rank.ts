import { createHash } from 'node:crypto';
import { type Stage, stagesOf } from '../algorithm/algorithm.ts';
import {
  type ConsensusMemory,
  consensusTarget,
  type GradientSignals,
  noMemory,
  predictedGossips,
} from '../algorithm/consensus.ts';
import type { Experiment } from '../experiment/schema.ts';
import { squaredConsensusDistance } from '../kernel/kernel.ts';
import type { Rows } from '../kernel/memory.ts';
import { initialise, rowSize } from '../model/layout.ts';
import type { Transport } from '../transport/transport.ts';
import type { Means } from './checkpoint.ts';
import { Clock, phases } from './clock.ts';
import type { PerReplica, PhaseMs } from './columns.ts';
import type { StepEvent } from './event.ts';
import type { EpochPlan } from './plan.ts';
import type { Outcome, Replicas } from './replicas.ts';

const floatBytes = 4;

/** What the stages of one step leave behind for its event. */
interface Measured {
  norms: Float64Array | undefined;
  distance: number | null;
  controlled: number | null;
  target: number | null;
  gossips: number;
  sentBytes: number;
  sentMessages: number;
}

const nothing = (): Measured => ({
  norms: undefined,
  distance: null,
  controlled: null,
  target: null,
  gossips: 0,
  sentBytes: 0,
  sentMessages: 0,
});

/** A value for each replica that is there, null for the others. */
export function perReplica(transport: Transport, value: (replica: number) => number): PerReplica {
  const all = new Array<number | null>(transport.replicas).fill(null);
  for (const i of transport.present) all[i] = value(i);
  return all;
}

/** One rank's part of a run: its replicas, taken through the stages of each step together with the other ranks. */
export class Rank {
  readonly #experiment: Experiment;
  readonly #transport: Transport;
  readonly replicas: Replicas;
  readonly #clock: Clock;
  /** Parameters of all replicas, and a matrix to write the next ones to; they change places. */
  #current: Rows;
  #spare: Rows;
  readonly #columns: number;
  readonly #row: Float32Array;
  /** Where each tensor begins in a row, and where the last one ends. */
  readonly #offsets: readonly number[];
  memory: ConsensusMemory = noMemory;
  #outcomes: Outcome[] = [];
  #meanGradient: Float32Array = new Float32Array(0);
  #measured = nothing();
  /** Whether what is adapted in this step is averaged next. */
  #combines = false;
  /** Mean gradient and mean parameters of the step before, for the critical distance: a checkpoint must hold them. */
  means: Means | undefined;

  constructor(experiment: Experiment, transport: Transport, replicas: Replicas) {
    this.#experiment = experiment;
    this.#transport = transport;
    this.replicas = replicas;
    this.#clock = new Clock(() => transport.takeWaitMs());
    this.#current = transport.rows('current');
    this.#spare = transport.rows('spare');
    this.#columns = rowSize(replicas.layout);
    this.#row = new Float32Array(this.#columns);
    this.#offsets = [...replicas.layout.map(({ offset }) => offset), this.#columns];
  }

  /** Every replica starts from the same parameters. */
  start(): void {
    const row = initialise(this.replicas.layout, this.#experiment.seed);
    for (const i of this.own()) this.#current.write(i, row);
    this.#transport.barrier();
  }

  /** The replicas of this rank. */
  own(): number[] {
    const { first, last } = this.#transport;
    return Array.from({ length: last - first }, (_, i) => first + i);
  }

  /** A replica's parameters, good until the next call. */
  params(replica: number): Float32Array {
    this.#current.read(replica, this.#row);
    return this.#row;
  }

  setParams(replica: number, row: Float32Array): void {
    this.#current.write(replica, row);
  }

  /** One step; the event and the norms are the same on every rank. */
  async step(step: number, plan: EpochPlan): Promise<{ event: StepEvent; norms: Float64Array | undefined }> {
    this.#measured = nothing();
    const { algorithm, consensus } = this.#experiment;
    const rate = plan.learningRate(step);
    const stages = stagesOf(algorithm, consensus, step, step + 1 === plan.steps);
    this.#combines = stages.indexOf('combine') > stages.indexOf('adapt');
    for (const stage of stages) await this.#stages[stage](step, plan, rate);
    return { event: this.#event(step, plan, rate), norms: this.#measured.norms };
  }

  readonly #stages: { readonly [S in Stage]: (step: number, plan: EpochPlan, rate: number) => void | Promise<void> } = {
    adapt: async (step, plan, rate) => {
      await this.#each(step, async (i) => {
        const outcome = await this.replicas.adapt(i, step, rate, this.#current, this.#spare);
        if (this.#combines) this.#transport.announce(plan.topology.mixing(this.memory.gossips), this.#spare, i);
        return outcome;
      });
      this.#swap();
    },
    gradient: (step) => this.#each(step, (i) => this.replicas.gradient(i, step, this.#current, this.#spare)),
    averageGradients: () => {
      this.#meanGradient = this.#meanOf(this.#spare);
      if (this.#experiment.consensus.kind === 'critical') this.#signal(this.#meanGradient);
    },
    stepTogether: async (step, _, rate) => {
      const next = await this.#update(this.#transport.first, step, rate, this.#meanGradient);
      for (const i of this.own()) this.#current.write(i, next);
      this.#sentToAll();
    },
    stepAlone: async (step, _, rate) => {
      const gradient = new Float32Array(this.#columns);
      for (const i of this.own()) {
        this.#spare.read(i, gradient);
        this.#spare.write(i, await this.#update(i, step, rate, gradient));
      }
      this.#swap();
    },
    probe: (step) => this.#clock.time('probe', () => this.#probe(step)),
    combine: (step, plan, rate) => this.#combine(step, plan, rate),
    merge: () => {
      const mean = this.merge();
      for (const i of this.own()) this.#current.write(i, mean);
      this.#sentToAll();
    },
  };

  #update(replica: number, step: number, rate: number, gradient: Float32Array): Promise<Float32Array> {
    const params = this.params(replica);
    return this.#clock.time('compute', () => this.replicas.update(replica, step, rate, params, gradient));
  }

  /** The batch and one step of every own replica. */
  async #each(step: number, work: (replica: number) => Promise<Outcome>): Promise<void> {
    this.#outcomes = [];
    for (const i of this.own()) {
      this.#clock.time('data', () => this.replicas.load(i, step));
      this.#outcomes.push(await this.#clock.time('compute', () => work(i)));
    }
    if (this.#experiment.consensus.kind !== 'none') this.#remember({ meanNorm2: this.#meanNorm2() });
  }

  #remember(gradients: Partial<GradientSignals>): void {
    this.memory = { ...this.memory, gradients: { ...this.memory.gradients, ...gradients } };
  }

  /** (1/n) Σ ‖g_i‖² */
  #meanNorm2(): number {
    const own = Float64Array.from(this.#outcomes, ({ gradientNorm }) => gradientNorm ** 2);
    const all = this.#gatherPresent(own);
    return all.reduce((sum, norm2) => sum + norm2, 0) / all.length;
  }

  /** A number of every replica that is there. */
  #gatherPresent(own: Float64Array): Float64Array {
    const all = this.#transport.gather(own, 1);
    return Float64Array.from(this.#transport.present, (i) => all[i]!);
  }

  #swap(): void {
    [this.#current, this.#spare] = [this.#spare, this.#current];
  }

  /** The mean over all replicas, as a row of one's own. */
  #meanOf(rows: Rows): Float32Array {
    const row = new Float32Array(this.#columns);
    this.#clock.time('mix', () => this.#transport.mean(rows)).read(0, row);
    return row;
  }

  /** Ξ = √((1/n) Σ ‖x̄ − x_i‖²) */
  #distance(): number {
    const { kernel, first, last } = this.#transport;
    const mean = this.#transport.mean(this.#current);
    const squares = Float64Array.from({ length: last - first }, (_, i) =>
      kernel.squaredDistance(this.#current, first + i, mean, 0),
    );
    return Math.sqrt(squaredConsensusDistance(this.#gatherPresent(squares)));
  }

  #probe(step: number): void {
    const { probes, algorithm, consensus } = this.#experiment;
    const due = step % probes.everySteps === 0;
    const width = this.replicas.layout.length;
    if (due && probes.norms) {
      const own = new Float64Array(this.own().length * width);
      this.own().forEach((i, place) => {
        this.#transport.kernel.norms(this.#current, i, this.#offsets, own.subarray(place * width, (place + 1) * width));
      });
      this.#measured.norms = this.#transport.gather(own, width);
    }
    // Under the centralized algorithm all replicas are equal: nothing to measure.
    if (algorithm.kind === 'centralized') this.#measured.distance = due && probes.distance ? 0 : null;
    else if ((due && probes.distance) || consensus.kind !== 'none') this.#measured.distance = this.#distance();
  }

  /** What the critical distance is estimated from. */
  #signal(gradient: Float32Array): void {
    const params = this.#meanOf(this.#current);
    const change = (a: Float32Array, b: Float32Array) => {
      let sum = 0;
      for (let i = 0; i < a.length; i++) sum += (a[i]! - b[i]!) ** 2;
      return Math.sqrt(sum);
    };
    const before = this.means;
    this.#remember({
      meanGradientNorm2: change(gradient, new Float32Array(this.#columns)) ** 2,
      gradientChange: before ? change(gradient, before.gradient) : 0,
      parameterChange: before ? change(params, before.params) : 0,
    });
    this.means = { gradient, params };
  }

  /** Averages with the neighbours: once, or under consensus control until the replicas are close enough. */
  #combine(step: number, plan: EpochPlan, rate: number): void {
    const target = this.#target(step, plan, rate);
    this.#gossip(plan);
    const { consensus } = this.#experiment;
    if (target !== null && consensus.kind !== 'none') {
      this.#measured.target = target;
      let distance = this.#clock.time('mix', () => this.#distance());
      while (distance > target && this.#measured.gossips < consensus.cap) {
        // As many as the topology needs at the least favourable; measured again only then.
        const wanted = predictedGossips(distance, target, plan.secondModulus());
        for (let left = Math.min(wanted, consensus.cap - this.#measured.gossips); left > 0; left--) this.#gossip(plan);
        distance = this.#clock.time('mix', () => this.#distance());
      }
      this.#measured.controlled = distance;
    }
  }

  #target(step: number, plan: EpochPlan, learningRate: number): number | null {
    const { consensus } = this.#experiment;
    if (consensus.kind === 'none') return null;
    const distance = this.#measured.distance ?? this.#clock.time('mix', () => this.#distance());
    const signals = {
      epoch: step / plan.stepsPerEpoch,
      learningRate,
      replicas: this.#transport.present.length,
      distance,
    };
    const { target, memory } = consensusTarget(consensus, this.memory, signals);
    this.memory = memory;
    return target;
  }

  #gossip(plan: EpochPlan): void {
    const mixing = plan.topology.mixing(this.memory.gossips);
    this.#clock.time('mix', () => this.#transport.mix(mixing, this.#current, this.#spare));
    this.#swap();
    this.memory = { ...this.memory, gossips: this.memory.gossips + 1 };
    this.#measured.gossips += 1;
    const { source, n } = this.#transport.surviving(mixing);
    const messages = (source.length - n) / this.#transport.present.length;
    this.#sent(messages, messages);
  }

  /** Per replica: messages, and how often the parameters are in them. */
  #sent(messages: number, copies: number): void {
    this.#measured.sentMessages += messages;
    this.#measured.sentBytes += copies * this.#columns * floatBytes;
  }

  /** A mean over all replicas by ring all-reduce: 2(n−1) messages of an n-th of the row each. */
  #sentToAll(): void {
    const { length: there } = this.#transport.present;
    const messages = 2 * (there - 1);
    this.#sent(messages, messages / there);
  }

  #event(step: number, plan: EpochPlan, rate: number): StepEvent {
    const own = Float64Array.from(
      this.#outcomes.flatMap(({ loss, accuracy, gradientNorm }) => [loss, accuracy, gradientNorm]),
    );
    const all = this.#transport.gather(own, 3);
    const column = (c: number) => perReplica(this.#transport, (i) => all[3 * i + c]!);
    const ms = this.#transport.reduce(this.#clock.take());
    return {
      type: 'step',
      step,
      epoch: Math.floor(step / plan.stepsPerEpoch),
      connections: plan.degree,
      learningRate: rate,
      loss: column(0),
      accuracy: column(1),
      gradientNorm: column(2),
      distance: this.#measured.distance,
      controlledDistance: this.#measured.controlled,
      targetDistance: this.#measured.target,
      gossips: this.#measured.gossips,
      sentBytes: this.#measured.sentBytes,
      sentMessages: this.#measured.sentMessages,
      ms: Object.fromEntries(phases.map((phase, i) => [phase, ms[i]! / this.#transport.workers])) as unknown as PhaseMs,
    };
  }

  /** One exact average over all replicas. */
  merge(): Float32Array {
    return this.#meanOf(this.#current);
  }

  /** Of all parameters, in replica order. */
  digest(): string {
    const own = this.own().map((i) => {
      const { buffer, byteOffset, byteLength } = this.params(i);
      return createHash('sha256')
        .update(new Uint8Array(buffer, byteOffset, byteLength))
        .digest();
    });
    const bytes = this.#transport.gather(Float64Array.from(own.flatMap((digest) => [...digest])), 32);
    const there = this.#transport.present.map((i) => Uint8Array.from(bytes.subarray(32 * i, 32 * i + 32)));
    return createHash('sha256').update(Buffer.concat(there)).digest('hex');
  }
}
