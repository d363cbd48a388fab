import { UserError } from '../base/error.ts';
import { add, div, minimum, mul, oneMinusPower, sqrt, squaredNorm, sub } from '../tensor/operations.ts';
import type { Tensor } from '../tensor/trace.ts';

/** What a parameter tensor is for, by which transforms may treat it differently. */
export const parameterKinds = ['weight', 'bias', 'norm', 'embedding'] as const;
export type ParameterKind = (typeof parameterKinds)[number];

export interface Parameter {
  readonly tensor: Tensor;
  readonly kind: ParameterKind;
}

/** One update of all parameter tensors, as far as it has come: each transform of a chain rewrites `updates`. */
export interface Update {
  /** Gradients at first; the parameters then move by −learningRate · updates. */
  readonly updates: readonly Tensor[];
  readonly parameters: readonly Parameter[];
  /** For each slot one tensor per parameter, zero before the first step. */
  readonly slots: readonly (readonly Tensor[])[];
  readonly learningRate: Tensor;
  /** How many updates came before this one, a float32 scalar. */
  readonly step: Tensor;
}

/** A rule from gradients to updates that becomes part of the program; `slots` name the rows of state it keeps. */
export interface Transform {
  readonly slots: readonly string[];
  apply(update: Update): Pick<Update, 'updates' | 'slots'>;
}

/** A transform without state. */
const stateless = (apply: (update: Update) => readonly Tensor[]): Transform => ({
  slots: [],
  apply: (update) => ({ updates: apply(update), slots: [] }),
});

/** One after the other. */
export function chain(...transforms: readonly Transform[]): Transform {
  const slots = transforms.flatMap((transform) => transform.slots);
  const twice = slots.find((slot, i) => slots.indexOf(slot) !== i);
  if (twice !== undefined) throw new UserError(`two transforms of one chain keep a slot "${twice}"`);
  return {
    slots,
    apply(update) {
      let updates = update.updates;
      let used = 0;
      const kept = transforms.flatMap((transform) => {
        const own = update.slots.slice(used, (used += transform.slots.length));
        const result = transform.apply({ ...update, updates, slots: own });
        updates = result.updates;
        return result.slots;
      });
      return { updates, slots: kept };
    },
  };
}

/** u + λ·x, for the parameters that decay: by rule not for norms and biases. */
export function weightDecay(lambda: number, except: readonly ParameterKind[] = ['norm', 'bias']): Transform {
  return stateless(({ updates, parameters }) =>
    updates.map((update, i) => {
      const { tensor, kind } = parameters[i]!;
      return except.includes(kind) || lambda === 0 ? update : add(update, mul(tensor, lambda));
    }),
  );
}

/** Scales all updates down together so that their norm is at most `bound`: u · min(1, bound / (‖u‖ + 1e-6)). */
export function clipByGlobalNorm(bound: number): Transform {
  return stateless(({ updates }) => {
    const norm = sqrt(globalSquaredNorm(updates));
    const factor = minimum(div(bound, add(norm, 1e-6)), 1);
    return updates.map((update) => mul(update, factor));
  });
}

/** Σ ‖u‖² over tensors, in their order. */
export function globalSquaredNorm(tensors: readonly Tensor[]): Tensor {
  return tensors.map(squaredNorm).reduce((left, right) => add(left, right));
}

/** Heavy ball: m ← μ·m + u; the update is m, or u + μ·m with Nesterov's look-ahead. */
export function momentum(mu: number, { nesterov = false } = {}): Transform {
  return {
    slots: ['momentum'],
    apply({ updates, slots: [before] }) {
      const after = updates.map((update, i) => add(mul(before![i]!, mu), update));
      return {
        updates: nesterov ? updates.map((update, i) => add(update, mul(after[i]!, mu))) : after,
        slots: [after],
      };
    },
  };
}

export interface AdamOptions {
  readonly beta1?: number;
  readonly beta2?: number;
  readonly epsilon?: number;
}

/**
 * Adam's direction, corrected for the zeros it starts from.
 *
 *     m ← β1·m + (1−β1)·u      v ← β2·v + (1−β2)·u²      t = step + 1
 *     update = (m / (1−β1^t)) / (√v / √(1−β2^t) + ε)
 *
 * Kingma & Ba, "Adam: a method for stochastic optimization", 2015. With decoupled weight decay after it: AdamW.
 */
export function adam({ beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8 }: AdamOptions = {}): Transform {
  return {
    slots: ['adamMean', 'adamSquare'],
    apply({ updates, slots: [means, squares], step }) {
      const count = add(step, 1);
      const meanCorrection = oneMinusPower(beta1, count);
      const squareCorrection = sqrt(oneMinusPower(beta2, count));
      const nextMeans = updates.map((u, i) => add(mul(means![i]!, beta1), mul(u, 1 - beta1)));
      const nextSquares = updates.map((u, i) => add(mul(squares![i]!, beta2), mul(mul(u, u), 1 - beta2)));
      return {
        updates: nextMeans.map((m, i) =>
          div(div(m, meanCorrection), add(div(sqrt(nextSquares[i]!), squareCorrection), epsilon)),
        ),
        slots: [nextMeans, nextSquares],
      };
    },
  };
}

/** x ← x − learningRate · u for every parameter. */
export function descend({ updates, parameters, learningRate }: Update): Tensor[] {
  return updates.map((update, i) => sub(parameters[i]!.tensor, mul(update, learningRate)));
}
