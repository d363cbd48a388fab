import type { Wishes } from '../algorithm/actions.ts';
import {
  type ConsensusMemory,
  type ConsensusSettings,
  consensusDemand,
  type Demand,
  noMemory,
  observeChange,
  usesGradients,
} from '../algorithm/consensus.ts';
import { distanceTraffic, numbersTraffic, scatteredMeanTraffic, type Traffic } from '../algorithm/traffic.ts';
import type { Rows } from '../kernel/memory.ts';
import type { Transport } from '../transport/transport.ts';
import { consensusDistance, copyOf, gatherPresent, meanOf, ownReplicas } from './measure.ts';
import type { Outcome } from './replicas.ts';

/** ‖a − b‖² */
function squaredDistance(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i]! - b[i]!) ** 2;
  return sum;
}

export const wishesOf = ({ kind }: ConsensusSettings): Wishes => ({
  signal: kind === 'adaptive' || kind === 'critical',
  apart: kind === 'critical',
});

/** What control found and did in a step, for its event. */
export interface Controlled {
  readonly distance: number | null;
  readonly target: number | null;
}

/** Consensus control: gossips again until the replicas are close enough. What it needs to know for that is counted as sent. */
export class ConsensusControl {
  memory: ConsensusMemory = noMemory;
  readonly #settings: ConsensusSettings;
  readonly #momentum: number;
  readonly #transport: Transport;
  readonly #sent: (...traffic: readonly Traffic[]) => void;
  #demand: Demand = 'nothing';
  /** Whether Ξ was measured before the first gossip of this step. */
  #known = false;
  /** Own gradients, their mean and that of the parameters, when they were looked at in this step. */
  #seen:
    | { readonly own: readonly Float32Array[]; readonly gradient: Float32Array; readonly params: Float32Array }
    | undefined;

  constructor(
    settings: ConsensusSettings,
    momentum: number,
    transport: Transport,
    sent: (...traffic: readonly Traffic[]) => void,
  ) {
    this.#settings = settings;
    this.#momentum = momentum;
    this.#transport = transport;
    this.#sent = sent;
  }

  get active(): boolean {
    return this.#settings.kind !== 'none';
  }

  /** How steps are to be carried out, so that gradients can be looked at; those of the critical distance before they are used. */
  get wishes(): Wishes {
    return wishesOf(this.#settings);
  }

  /** What the gradients of an averaging step show: their norms, and for the critical distance that of their mean. */
  estimate(epoch: number, outcomes: readonly Outcome[], gradients?: Rows, params?: Rows): void {
    if (!usesGradients(this.#settings, epoch)) return;
    const { length: n } = this.#transport.present;
    const norms2 = gatherPresent(
      this.#transport,
      Float64Array.from(outcomes, ({ gradientNorm }) => gradientNorm ** 2),
    );
    const signals = { ...noMemory.gradients, meanNorm2: norms2.reduce((sum, norm2) => sum + norm2, 0) / n };
    this.#sent(numbersTraffic(n, 1));
    if (gradients !== undefined && params !== undefined) {
      const own = ownReplicas(this.#transport).map((i) => copyOf(gradients, i));
      this.#seen = { own, gradient: meanOf(this.#transport, gradients), params: meanOf(this.#transport, params) };
      signals.meanGradientNorm2 = squaredDistance(this.#seen.gradient, new Float32Array(params.columns));
      this.#sent(scatteredMeanTraffic(n, params.columns), numbersTraffic(n, 1));
    }
    this.memory = { ...this.memory, gradients: signals };
  }

  /** How the mean gradient changed with the mean parameters in this step, on the same batches: `again` computes the gradients at `params` anew. */
  async observe(params: Rows, again: () => Promise<Rows>): Promise<void> {
    if (this.#seen === undefined) return;
    const { own, gradient, params: before } = this.#seen;
    this.#seen = undefined;
    const gradients = await again();
    const changes = Float64Array.from(ownReplicas(this.#transport), (i, place) =>
      squaredDistance(copyOf(gradients, i), own[place]!),
    );
    const { length: n } = this.#transport.present;
    this.memory = observeChange(this.memory, n, {
      meanNorm2: gatherPresent(this.#transport, changes).reduce((sum, change2) => sum + change2, 0) / n,
      norm2OfMean: squaredDistance(meanOf(this.#transport, gradients), gradient),
      parameters2: squaredDistance(meanOf(this.#transport, params), before),
    });
    // The mean of each replica's change of both, an n-th of it on each: of that, the squared length is added up over all.
    this.#sent(scatteredMeanTraffic(n, params.columns), scatteredMeanTraffic(n, params.columns), numbersTraffic(n, 3));
  }

  /** Whether a step needs no gossip at all, because replicas are close enough as they are; what it found then. */
  unneeded(epoch: number, learningRate: number, rows: Rows): Controlled | undefined {
    this.#demand = this.#demanded(epoch, learningRate);
    const settings = this.#settings;
    if (settings.kind === 'none' || settings.least > 0 || typeof this.#demand !== 'number') return undefined;
    const distance = this.#distance(rows, false);
    this.#known = true;
    return distance <= this.#demand ? { distance, target: this.#demand } : undefined;
  }

  /** What is asked of this step. */
  #demanded(epoch: number, learningRate: number): Demand {
    const moment = { epoch, learningRate, momentum: this.#momentum, replicas: this.#transport.present.length };
    const { demand, memory } = consensusDemand(this.#settings, this.memory, moment);
    this.memory = memory;
    return demand;
  }

  /**
   * After the first gossip of a step: as many more as it takes.
   *
   * @param rows where the parameters are now
   * @param keptMean whether the first gossip kept the mean
   * @param gossip one more; whether it keeps the mean
   */
  hold(rows: () => Rows, keptMean: boolean, gossip: () => boolean): Controlled {
    const [settings, demand] = [this.#settings, this.#demand];
    if (demand === 'nothing' || settings.kind === 'none') return { distance: null, target: null };
    let distance = this.#distance(rows(), this.#known && keptMean);
    this.#known = false;
    if (demand === 'measure') {
      this.memory = { ...this.memory, maxDistance: Math.max(this.memory.maxDistance, distance) };
      return { distance, target: null };
    }
    for (let gossips = 1; distance > demand && gossips < settings.cap; gossips++) {
      const keepsMean = gossip();
      distance = this.#distance(rows(), keepsMean);
    }
    return { distance, target: demand };
  }

  /** Ξ as control learns it, which is paid for; `meanKnown`: since the last time nothing changed the mean. */
  #distance(rows: Rows, meanKnown: boolean): number {
    this.#sent(...distanceTraffic(this.#transport.present.length, rows.columns, meanKnown));
    return consensusDistance(this.#transport, rows);
  }
}
