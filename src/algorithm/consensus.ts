import type { z } from 'zod';
import type { consensusSchema } from './schema.ts';

export type ConsensusSettings = Readonly<z.output<typeof consensusSchema>>;

/**
 * What consensus control remembers between steps: plain numbers, so that a checkpoint can hold them. Sums forget: each averaging step
 * multiplies what they hold by β before it adds its own. A quotient of two is a moving average that is unbiased from its first step on.
 */
export interface ConsensusMemory {
  /** Averagings so far: topologies that change continue from it. */
  readonly gossips: number;
  /** Ξ_max: the largest distance after averaging, seen in the uncontrolled first steps. */
  readonly maxDistance: number;
  /** φ = normSum / normWeight: the moving average of √(mean squared gradient norm). */
  readonly normSum: number;
  readonly normWeight: number;
  /** L² = smoothnessSum / smoothnessWeight: the moving average of ‖Δ∇f‖²/‖Δx̄‖². */
  readonly smoothnessSum: number;
  readonly smoothnessWeight: number;
  /** What the last gradients showed: if replicas combine before they adapt, the next averaging step is controlled by it. */
  readonly gradients: GradientSignals;
}

/** What the gradients of one averaging step show, over all replicas. */
export interface GradientSignals {
  /** (1/n) Σ ‖g_i‖² */
  readonly meanNorm2: number;
  /** ‖ḡ‖²: 0 unless the critical distance is estimated. */
  readonly meanGradientNorm2: number;
}

export const noMemory: ConsensusMemory = {
  gossips: 0,
  maxDistance: 0,
  normSum: 0,
  normWeight: 0,
  smoothnessSum: 0,
  smoothnessWeight: 0,
  gradients: { meanNorm2: 0, meanGradientNorm2: 0 },
};

/** The averaging step that is to be controlled. */
export interface ConsensusMoment {
  readonly epoch: number;
  readonly learningRate: number;
  /** μ of the optimizer, 0 if it has none. */
  readonly momentum: number;
  readonly replicas: number;
}

/** What control asks of an averaging step: one gossip; one, and to measure Ξ after it; or to gossip until Ξ is no larger than a target. */
export type Demand = 'nothing' | 'measure' | number;

/** β of the average that L is taken from. */
const smoothnessMemory = 0.9;

/** Whether gradients tell something that control needs in this epoch. */
export function usesGradients(settings: ConsensusSettings, epoch: number): boolean {
  return (settings.kind === 'adaptive' || settings.kind === 'critical') && inPhase(settings, epoch);
}

function inPhase({ from, to = Number.POSITIVE_INFINITY }: { from: number; to?: number | undefined }, epoch: number) {
  return epoch >= from && epoch < to;
}

/**
 * The squared critical distance: below it decentralized SGD keeps the centralized rate.
 *
 *     Γ² = η σ²/(L n) + ‖∇f(x̄)‖²/(8 L²)
 *     σ² ≈ Σ‖g_i − ḡ‖²/(n−1),   ‖∇f‖² ≈ max(0, ‖ḡ‖² − σ²/n)
 *
 * Kong et al., "Consensus control for decentralized deep learning", 2021. η is the length of a step along a gradient that stays, so
 * that with momentum μ it is learningRate/(1−μ).
 */
export function criticalDistance2(
  stepSize: number,
  n: number,
  { meanNorm2, meanGradientNorm2 }: GradientSignals,
  smoothness: number,
): number {
  const spread = Math.max(0, meanNorm2 - meanGradientNorm2);
  const sigma2 = n > 1 ? (spread * n) / (n - 1) : 0;
  const slope2 = Math.max(0, meanGradientNorm2 - sigma2 / n);
  return (stepSize * sigma2) / (smoothness * n) + slope2 / (8 * smoothness ** 2);
}

/** How gradients and parameters changed in an averaging step, h_i being the change of g_i on the same batch. */
export interface Change {
  /** (1/n) Σ ‖h_i‖² and ‖h̄‖² */
  readonly meanNorm2: number;
  readonly norm2OfMean: number;
  /** ‖Δx̄‖² */
  readonly parameters2: number;
}

/**
 * Takes ‖Δ∇f‖²/‖Δx̄‖² of a step into the average. On the same batch most of the noise in the change of a gradient cancels; what is left
 * makes ‖h̄‖² larger by Σ‖h_i − h̄‖²/(n(n−1)) on average. So a single step may fall below 0: it is the average that counts.
 */
export function observeChange(memory: ConsensusMemory, n: number, change: Change): ConsensusMemory {
  const { meanNorm2, norm2OfMean, parameters2 } = change;
  if (parameters2 === 0) return memory;
  const noise2 = n > 1 ? (meanNorm2 - norm2OfMean) / (n - 1) : 0;
  return {
    ...memory,
    smoothnessSum: smoothnessMemory * memory.smoothnessSum + (norm2OfMean - noise2) / parameters2,
    smoothnessWeight: smoothnessMemory * memory.smoothnessWeight + 1,
  };
}

/**
 * What control asks of an averaging step, and what to remember. Ξ is always the distance after averaging: that of the points at which
 * the next gradients are taken, which is what the critical distance is about, too.
 */
export function consensusDemand(
  settings: ConsensusSettings,
  memory: ConsensusMemory,
  { epoch, learningRate, momentum, replicas }: ConsensusMoment,
): { readonly demand: Demand; readonly memory: ConsensusMemory } {
  if (settings.kind === 'none') return { demand: 'nothing', memory };
  if (settings.kind === 'fixed') {
    const { fraction, maxDistance } = settings;
    // The first epoch is left alone, to see how far the replicas drift apart; longer if nothing was averaged in it.
    if (maxDistance === undefined && (epoch < 1 || memory.maxDistance === 0)) return { demand: 'measure', memory };
    const target = fraction * (maxDistance ?? memory.maxDistance);
    return { demand: inPhase(settings, epoch) ? target : 'nothing', memory };
  }
  // Before the first gradient nothing is known, and a target of 0 would be out of reach.
  const { gradients } = memory;
  if (!inPhase(settings, epoch) || gradients.meanNorm2 === 0) return { demand: 'nothing', memory };
  if (settings.kind === 'adaptive') {
    const normSum = settings.beta * memory.normSum + Math.sqrt(gradients.meanNorm2);
    const normWeight = settings.beta * memory.normWeight + 1;
    const demand = (settings.scale * learningRate * normSum) / normWeight;
    return { demand, memory: { ...memory, normSum, normWeight } };
  }
  const smoothness = Math.sqrt(memory.smoothnessSum / memory.smoothnessWeight);
  // Nothing has moved yet; or the loss is flat, which has no critical distance.
  if (!(smoothness > 0)) return { demand: 'nothing', memory };
  const gamma2 = criticalDistance2(learningRate / (1 - momentum), replicas, gradients, smoothness);
  return { demand: settings.fraction * Math.sqrt(gamma2), memory };
}
