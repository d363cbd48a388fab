import type { z } from 'zod';
import type { ConsensusSettings } from './consensus.ts';
import type { algorithmSchema } from './schema.ts';

export type AlgorithmSettings = Readonly<z.output<typeof algorithmSchema>>;

/**
 * One thing done in a step, on every replica:
 *
 * - gradient          each replica computes the gradient of its batch
 * - averageGradients  the mean over all replicas
 * - stepTogether      the optimizer's step with that mean, the same on all replicas
 * - stepAlone         the optimizer's step of each replica with its own gradient
 * - adapt             each replica steps alone: gradient and optimizer in one program
 * - probe             measure, before averaging
 * - combine           each replica averages its parameters with its neighbours'
 * - merge             all replicas take the mean over all, once, in the end
 */
export type Stage =
  | 'gradient'
  | 'averageGradients'
  | 'stepTogether'
  | 'stepAlone'
  | 'adapt'
  | 'probe'
  | 'combine'
  | 'merge';

/**
 * The stages of a step: an algorithm is this list and nothing else. The critical distance needs the mean gradient, so there the
 * local step is taken apart.
 */
export function stagesOf(
  algorithm: AlgorithmSettings,
  consensus: ConsensusSettings,
  step: number,
  last: boolean,
): readonly Stage[] {
  if (algorithm.kind === 'centralized') return ['gradient', 'probe', 'averageGradients', 'stepTogether'];
  const adapt: readonly Stage[] =
    consensus.kind === 'critical' ? ['gradient', 'averageGradients', 'stepAlone'] : ['adapt'];
  const combine: readonly Stage[] = (step + 1) % algorithm.localSteps === 0 ? ['combine'] : [];
  const merge: readonly Stage[] = last && algorithm.finalMerge ? ['merge'] : [];
  return algorithm.order === 'adapt-then-combine'
    ? [...adapt, 'probe', ...combine, ...merge]
    : [...combine, ...adapt, 'probe', ...merge];
}
