import { UserError } from '../base/error.ts';
import type { Constant } from '../onnx/values.ts';
import type { Parameter, ParameterKind } from '../optim/transform.ts';
import { dropout } from '../tensor/operations.ts';
import { f32, type Shape, type TensorType } from '../tensor/program.ts';
import type { Tensor, Trace } from '../tensor/trace.ts';
import { filled, type Init, type Layout, type PlacedParameter, place } from './layout.ts';
import type { TaskKind } from './loss.ts';

/** What a model is built with: it asks for its parameters and state by name, in the order they shall lie in the row. */
export interface Context {
  readonly training: boolean;
  param(name: string, shape: Shape, init: Init, kind: ParameterKind): Tensor;
  /** What a step carries on besides parameters, such as running statistics: starts at `initial`, everywhere if it is a number. */
  state(name: string, shape: Shape, initial: number | Init): Tensor;
  /** The state after this step; without it the state stays. */
  setState(name: string, value: Tensor): void;
  /** Does nothing outside training. */
  dropout(x: Tensor, rate: number): Tensor;
}

/** What the data ask of a model: the shape of one sample, without the batch, and the number of classes (or words). */
export interface Task {
  readonly shape: Shape;
  /** Classes, words, or the numbers or answers that are to be given. */
  readonly classes: number;
  /** Classification unless said. */
  readonly kind?: TaskKind;
}

/** [channels, height, width] of a task of images, each side at least `least`. */
export function imageOf(kind: string, { shape }: Task, least = 1): readonly [number, number, number] {
  if (shape.length === 3 && shape[1]! >= least && shape[2]! >= least) return shape as [number, number, number];
  throw new UserError(
    `${kind} needs images [channels, height, width] of at least ${least}×${least}, got samples of [${shape}]`,
    {
      hint: 'use the model "mlp", or other data',
    },
  );
}

/** A network: every label of a batch is one sample of the loss. */
export interface Model {
  readonly kind: string;
  /** What its outputs are for; classification unless said. */
  readonly task?: TaskKind;
  /**
   * Its state is a place in a text rather than statistics: batches follow on one another, and every pass over data
   * (an epoch of training, an evaluation) starts with new state. Other state is carried from training to evaluation.
   */
  readonly sequential?: boolean;
  /** Parameters that others know under a second name, as of a head that shares the table of its embedding: name → parameter. */
  readonly shared?: Readonly<Record<string, string>>;
  /** Tensors that others know besides, such as masks, and that stay as they are. */
  kept?(): ReadonlyMap<string, Constant>;
  /** The batch of so many samples; labels may have several axes (time, batch). */
  batch(size: number): { readonly x: TensorType; readonly labels: TensorType };
  /** x → logits [samples, classes] */
  forward(context: Context, x: Tensor): Tensor;
}

/** A context that makes each parameter and state an input of the trace, and remembers the layouts. */
export function tracing(trace: Trace, training: boolean, key: Tensor | undefined) {
  let params: Layout<PlacedParameter> = [];
  let state: Layout = [];
  const parameters: Parameter[] = [];
  const states = new Map<string, { tensor: Tensor; shape: Shape }>();
  let changed = false;
  const context: Context = {
    training,
    param(name, shape, init, kind) {
      const tensor = trace.input(`params/${name}`, f32(...shape));
      params = place(params, { name, shape, init, kind });
      parameters.push({ tensor, kind });
      return tensor;
    },
    state(name, shape, initial) {
      const tensor = trace.input(`state/${name}`, f32(...shape));
      state = place(state, { name, shape, init: typeof initial === 'number' ? filled(initial) : initial });
      states.set(name, { tensor, shape });
      return tensor;
    },
    setState(name, tensor) {
      const known = states.get(name);
      if (known === undefined) throw new UserError(`there is no state "${name}"`);
      if (String(known.shape) !== String(tensor.shape))
        throw new UserError(`state ${name} is [${known.shape}], not [${tensor.shape}]`);
      states.set(name, { ...known, tensor });
      changed = true;
    },
    dropout: (x, rate) => (training && key ? dropout(x, key, rate) : x),
  };
  return {
    context,
    parameters,
    layouts: () => ({ params, state }),
    /** The whole row after the step, or nothing when it stays as it is. */
    nextState: () =>
      changed ? Object.fromEntries([...states].map(([name, { tensor }]) => [`state'/${name}`, tensor])) : {},
  };
}
