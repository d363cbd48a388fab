import { createHash } from 'node:crypto';
import { type StageName, stagesOf } from '../algorithm/algorithm.ts';
import { type ConsensusMemory, consensusDemand, noMemory, observeChange } from '../algorithm/consensus.ts';
import { factsOf } from '../algorithm/facts.ts';
import type { Traffic } from '../algorithm/sent.ts';
import {
  distanceTraffic,
  gossipTraffic,
  meanTraffic,
  numbersTraffic,
  scatteredMeanTraffic,
} from '../algorithm/traffic.ts';
import type { Experiment } from '../experiment/schema.ts';
import { squaredConsensusDistance } from '../kernel/kernel.ts';
import type { Rows } from '../kernel/memory.ts';
import { initialise, rowSize } from '../model/layout.ts';
import { isDoublyStochastic, type Mixing } from '../topology/mixing.ts';
import type { Transport } from '../transport/transport.ts';
import { Clock, phases } from './clock.ts';
import type { PerReplica, PhaseMs } from './columns.ts';
import type { StepEvent } from './event.ts';
import type { EpochPlan } from './plan.ts';
import type { Outcome, Replicas } from './replicas.ts';

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

/** ‖a − b‖² */
function squaredDistance(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i]! - b[i]!) ** 2;
  return sum;
}

/** One worker's part of a run: its replicas, taken through the stages of each step together with the other workers. */
export class Part {
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
  /** Own gradients and the mean parameters, as they were when control looked at them in this step. */
  #gradients: readonly Float32Array[] = [];
  #meanParams: Float32Array = new Float32Array(0);
  #measured = nothing();
  /** Whether what is adapted in this step is averaged next. */
  #combines = false;

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

  /** The replicas of this worker. */
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

  /** One step; the event and the norms are the same on every worker. */
  async step(step: number, plan: EpochPlan): Promise<{ event: StepEvent; norms: Float64Array | undefined }> {
    this.#measured = nothing();
    const { algorithm, consensus } = this.#experiment;
    const rate = plan.learningRate(step);
    const epoch = step / plan.stepsPerEpoch;
    const stages = stagesOf(algorithm, consensus, { step, epoch, last: step + 1 === plan.steps });
    this.#combines = stages.indexOf('combine') > stages.indexOf('adapt');
    for (const stage of stages) await this.#stages[stage](step, plan, rate);
    return { event: this.#event(step, plan, rate), norms: this.#measured.norms };
  }

  readonly #stages: {
    readonly [S in StageName]: (step: number, plan: EpochPlan, rate: number) => void | Promise<void>;
  } = {
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
    },
    estimate: () => this.#estimate(),
    stepTogether: async (step, _, rate) => {
      const next = await this.#update(this.#transport.first, step, rate, this.#meanGradient);
      for (const i of this.own()) this.#current.write(i, next);
      this.#sent(meanTraffic(this.#transport.present.length, this.#columns));
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
    smoothness: (step) => this.#smoothness(step),
    merge: () => {
      const mean = this.merge();
      for (const i of this.own()) this.#current.write(i, mean);
      this.#sent(meanTraffic(this.#transport.present.length, this.#columns));
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

  #copyOf(rows: Rows, replica: number): Float32Array {
    const row = new Float32Array(this.#columns);
    rows.read(replica, row);
    return row;
  }

  /** The mean over all replicas, as a row of one's own. */
  #meanOf(rows: Rows): Float32Array {
    return this.#copyOf(
      this.#clock.time('mix', () => this.#transport.mean(rows)),
      0,
    );
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
    const { probes, algorithm } = this.#experiment;
    const due = step % probes.everySteps === 0;
    const width = this.replicas.layout.length;
    if (due && probes.norms) {
      const own = new Float64Array(this.own().length * width);
      this.own().forEach((i, place) => {
        this.#transport.kernel.norms(this.#current, i, this.#offsets, own.subarray(place * width, (place + 1) * width));
      });
      this.#measured.norms = this.#transport.gather(own, width);
    }
    // Replicas that are equal need not be measured.
    if (factsOf(algorithm).keepsReplicasEqual) this.#measured.distance = due && probes.distance ? 0 : null;
    else if (due && probes.distance) this.#measured.distance = this.#distance();
  }

  /** What control must know of the gradients: their norms, and for the critical distance that of their mean. */
  #estimate(): void {
    const { length: n } = this.#transport.present;
    const gradients = { ...noMemory.gradients, meanNorm2: this.#meanNorm2() };
    this.#sent(numbersTraffic(n, 1));
    if (this.#experiment.consensus.kind === 'critical') {
      this.#meanGradient = this.#meanOf(this.#spare);
      this.#meanParams = this.#meanOf(this.#current);
      this.#gradients = this.own().map((i) => this.#copyOf(this.#spare, i));
      gradients.meanGradientNorm2 = squaredDistance(this.#meanGradient, new Float32Array(this.#columns));
      this.#sent(scatteredMeanTraffic(n, this.#columns), numbersTraffic(n, 1));
    }
    this.memory = { ...this.memory, gradients };
  }

  /** How the mean gradient changed with the mean parameters since they were estimated in this step, on the same batches. */
  async #smoothness(step: number): Promise<void> {
    for (const i of this.own())
      await this.#clock.time('compute', () => this.replicas.gradientAgain(i, step, this.#current, this.#spare));
    const changes = Float64Array.from(this.own(), (i, place) =>
      squaredDistance(this.#copyOf(this.#spare, i), this.#gradients[place]!),
    );
    const { length: n } = this.#transport.present;
    this.memory = observeChange(this.memory, n, {
      meanNorm2: this.#gatherPresent(changes).reduce((sum, change2) => sum + change2, 0) / n,
      norm2OfMean: squaredDistance(this.#meanOf(this.#spare), this.#meanGradient),
      parameters2: squaredDistance(this.#meanOf(this.#current), this.#meanParams),
    });
    // The mean of each replica's change of both, an n-th of it on each: of that, the squared length is added up over all.
    this.#sent(scatteredMeanTraffic(n, this.#columns), scatteredMeanTraffic(n, this.#columns), numbersTraffic(n, 3));
  }

  /** Averages with the neighbours: once, or under consensus control until the replicas are close enough. */
  #combine(step: number, plan: EpochPlan, learningRate: number): void {
    const { consensus, optimizer } = this.#experiment;
    const { demand, memory } = consensusDemand(consensus, this.memory, {
      epoch: step / plan.stepsPerEpoch,
      learningRate,
      momentum: 'momentum' in optimizer ? optimizer.momentum : 0,
      replicas: this.#transport.present.length,
    });
    this.memory = memory;
    this.#gossip(plan);
    if (demand === 'nothing' || consensus.kind === 'none') return;
    let distance = this.#knownDistance(false);
    if (demand === 'measure')
      this.memory = { ...this.memory, maxDistance: Math.max(this.memory.maxDistance, distance) };
    else {
      this.#measured.target = demand;
      while (distance > demand && this.#measured.gossips < consensus.cap)
        distance = this.#knownDistance(isDoublyStochastic(this.#gossip(plan)));
    }
    this.#measured.controlled = distance;
  }

  /** Ξ as control learns it, which is paid for; `meanKnown`: since the last time nothing changed the mean. */
  #knownDistance(meanKnown: boolean): number {
    this.#sent(...distanceTraffic(this.#transport.present.length, this.#columns, meanKnown));
    return this.#clock.time('mix', () => this.#distance());
  }

  #gossip(plan: EpochPlan): Mixing {
    const mixing = plan.topology.mixing(this.memory.gossips);
    this.#clock.time('mix', () => this.#transport.mix(mixing, this.#current, this.#spare));
    this.#swap();
    this.memory = { ...this.memory, gossips: this.memory.gossips + 1 };
    this.#measured.gossips += 1;
    const surviving = this.#transport.surviving(mixing);
    this.#sent(gossipTraffic(surviving, this.#transport.present.length, this.#columns));
    return surviving;
  }

  #sent(...traffic: readonly Traffic[]): void {
    for (const { messages, bytes } of traffic) {
      this.#measured.sentMessages += messages;
      this.#measured.sentBytes += bytes;
    }
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
