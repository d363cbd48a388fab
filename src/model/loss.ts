import { mul, pad, reshape, softmaxCrossEntropy, sub, topKCorrect } from '../tensor/operations.ts';
import { f32, i32, type TensorType } from '../tensor/program.ts';
import type { Tensor } from '../tensor/trace.ts';

/**
 * What is asked of the outputs for a sample: one class of several, a number each, or yes or no each. Every label is one sample of
 * the loss.
 */
export type TaskKind = 'classification' | 'regression' | 'multi-label';

/** The labels of a batch of so many samples, if the model does not say. */
export const labelsType = (kind: TaskKind, size: number, outputs: number): TensorType =>
  kind === 'classification' ? i32(size) : kind === 'regression' ? f32(size, outputs) : i32(size, outputs);

interface Losses {
  /** One for each label. */
  readonly losses: Tensor;
  /** 1 for each label that is right, 0 for others; undefined if labels are numbers. */
  correct(k?: number): Tensor | undefined;
}

/** Cross entropy, squared error, or binary cross entropy of these outputs [samples, outputs] for labels in a row. */
export function lossesOf(kind: TaskKind, outputs: Tensor, labels: Tensor): Losses {
  if (kind === 'regression') {
    const difference = sub(reshape(outputs, labels.shape), labels);
    return { losses: mul(difference, difference), correct: () => undefined };
  }
  // Yes or no is a choice between the logits z and 0: log(1 + e^z) − z·yes.
  const logits = kind === 'classification' ? outputs : pad(reshape(outputs, [labels.shape[0]!, 1]), 1, 1, 0);
  return {
    losses: softmaxCrossEntropy(logits, labels),
    correct: (k = 1) => topKCorrect(logits, labels, k),
  };
}
