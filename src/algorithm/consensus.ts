import type { z } from 'zod';
import type { consensusSchema } from './schema.ts';

export type ConsensusSettings = Readonly<z.output<typeof consensusSchema>>;

/** What consensus control remembers between steps: plain numbers, so that a checkpoint can hold them. */
export interface ConsensusMemory {
  /** Averagings so far: topologies that change go on with it. */
  readonly gossips: number;
  /** Ξ_max: the largest distance seen in the uncontrolled first steps. */
  readonly maxDistance: number;
  /** φ: moving average of √(mean squared gradient norm). */
  readonly gradientScale: number;
  /** L: moving average of ‖ḡ_t − ḡ_{t−1}‖ / ‖x̄_t − x̄_{t−1}‖. */
  readonly smoothness: number;
  /** What the last gradients showed: where replicas combine first it is what the next step's control goes by. */
  readonly gradients: GradientSignals;
}

/** What the gradients of one step show, over all replicas. */
export interface GradientSignals {
  /** (1/n) Σ ‖g_i‖² */
  readonly meanNorm2: number;
  /** ‖ḡ‖², ‖ḡ_t − ḡ_{t−1}‖ and ‖x̄_t − x̄_{t−1}‖: 0 unless the critical distance is estimated. */
  readonly meanGradientNorm2: number;
  readonly gradientChange: number;
  readonly parameterChange: number;
}

export const noMemory: ConsensusMemory = {
  gossips: 0,
  maxDistance: 0,
  gradientScale: 0,
  smoothness: 0,
  gradients: { meanNorm2: 0, meanGradientNorm2: 0, gradientChange: 0, parameterChange: 0 },
};

/** What a step measured. */
export interface ConsensusSignals {
  readonly epoch: number;
  readonly learningRate: number;
  readonly replicas: number;
  /** Ξ after the local step. */
  readonly distance: number;
}

const moving = (before: number, now: number, beta: number) => (before === 0 ? now : beta * before + (1 - beta) * now);

/**
 * The squared critical distance: below it decentralized SGD keeps the centralized rate.
 *
 *     Γ² = η σ²/(L n) + ‖∇f(x̄)‖²/(8 L²)
 *     σ² ≈ Σ‖g_i − ḡ‖²/(n−1),   ‖∇f‖² ≈ max(0, ‖ḡ‖² − σ²/n)
 *
 * Kong et al., "Consensus control for decentralized deep learning", 2021.
 */
export function criticalDistance2(
  learningRate: number,
  n: number,
  { meanNorm2, meanGradientNorm2 }: Pick<GradientSignals, 'meanNorm2' | 'meanGradientNorm2'>,
  smoothness: number,
): number {
  const spread = Math.max(0, meanNorm2 - meanGradientNorm2);
  const sigma2 = n > 1 ? (spread * n) / (n - 1) : 0;
  const slope2 = Math.max(0, meanGradientNorm2 - sigma2 / n);
  return (learningRate * sigma2) / (smoothness * n) + slope2 / (8 * smoothness ** 2);
}

/** The distance to stay below in this step (null: one gossip, whatever the distance), and what to remember. */
export function consensusTarget(
  settings: ConsensusSettings,
  memory: ConsensusMemory,
  signals: ConsensusSignals,
): { target: number | null; memory: ConsensusMemory } {
  if (settings.kind === 'none') return { target: null, memory };
  const controlled = signals.epoch >= settings.from && signals.epoch < (settings.to ?? Number.POSITIVE_INFINITY);
  const limit = (target: number) => (controlled ? target : null);
  switch (settings.kind) {
    case 'fixed': {
      if (settings.maxDistance !== undefined)
        return { target: limit(settings.fraction * settings.maxDistance), memory };
      // The first epoch is left alone, to see how far the replicas drift apart; longer where nothing was averaged in it.
      if (signals.epoch < 1 || memory.maxDistance === 0)
        return { target: null, memory: { ...memory, maxDistance: Math.max(memory.maxDistance, signals.distance) } };
      return { target: limit(settings.fraction * memory.maxDistance), memory };
    }
    case 'adaptive': {
      // Before the first gradient nothing is known, and a target of 0 would be out of reach.
      if (memory.gradients.meanNorm2 === 0) return { target: null, memory };
      const gradientScale = moving(memory.gradientScale, Math.sqrt(memory.gradients.meanNorm2), settings.beta);
      return {
        target: limit(settings.scale * signals.learningRate * gradientScale),
        memory: { ...memory, gradientScale },
      };
    }
    case 'critical': {
      const { gradientChange, parameterChange } = memory.gradients;
      if (parameterChange === 0) return { target: null, memory };
      const smoothness = moving(memory.smoothness, gradientChange / parameterChange, 0.95);
      const gamma2 = criticalDistance2(signals.learningRate, signals.replicas, memory.gradients, smoothness);
      return { target: limit(settings.fraction * Math.sqrt(gamma2)), memory: { ...memory, smoothness } };
    }
  }
}

/** Gossips that bring Ξ to the target at the latest, if the topology contracts by |λ2| each: ⌈ln(target/Ξ) / ln|λ2|⌉. */
export function predictedGossips(distance: number, target: number, secondModulus: number): number {
  if (distance <= target || secondModulus <= 0) return 1;
  if (secondModulus >= 1 || target <= 0) return Number.POSITIVE_INFINITY;
  return Math.max(1, Math.ceil(Math.log(target / distance) / Math.log(secondModulus)));
}
