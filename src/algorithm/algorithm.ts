import type { z } from 'zod';
import { type ConsensusSettings, usesGradients } from './consensus.ts';
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
 * - estimate          what consensus control must know of the gradients
 * - probe             measure: after the local step and before averaging; if all step together, after that
 * - combine           each replica averages its parameters with its neighbours'
 * - smoothness        the gradients of the same batches once more, to see how they changed in the step
 * - merge             all replicas take the mean over all, once, in the end
 */
export type StageName =
  | 'gradient'
  | 'averageGradients'
  | 'stepTogether'
  | 'stepAlone'
  | 'adapt'
  | 'estimate'
  | 'probe'
  | 'combine'
  | 'smoothness'
  | 'merge';

/** When a step happens. */
export interface StepMoment {
  readonly step: number;
  /** With its fraction. */
  readonly epoch: number;
  /** Whether it is the last of the run. */
  readonly last: boolean;
}

/**
 * The stages of a step: an algorithm is this list and nothing else. The critical distance needs gradients before they are applied, so
 * there the local step is taken apart. Gradients are estimated in averaging steps only: in between nothing is sent.
 */
export function stagesOf(
  algorithm: AlgorithmSettings,
  consensus: ConsensusSettings,
  { step, epoch, last }: StepMoment,
): readonly StageName[] {
  if (algorithm.kind === 'centralized') return ['gradient', 'averageGradients', 'stepTogether', 'probe'];
  const averages = (step + 1) % algorithm.localSteps === 0;
  const combine: readonly StageName[] = averages ? ['combine'] : [];
  const estimate: readonly StageName[] = averages && usesGradients(consensus, epoch) ? ['estimate'] : [];
  const smoothness: readonly StageName[] = estimate.length > 0 && consensus.kind === 'critical' ? ['smoothness'] : [];
  const adapt: readonly StageName[] =
    consensus.kind === 'critical' ? ['gradient', ...estimate, 'stepAlone'] : ['adapt', ...estimate];
  const merge: readonly StageName[] = last && algorithm.finalMerge ? ['merge'] : [];
  return algorithm.order === 'adapt-then-combine'
    ? [...adapt, 'probe', ...combine, ...smoothness, ...merge]
    : [...combine, ...adapt, 'probe', ...smoothness, ...merge];
}
