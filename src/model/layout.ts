import { Random } from '../base/random.ts';
import { sizeOf } from '../base/shape.ts';
import type { ParameterKind } from '../optim/transform.ts';
import type { Shape } from '../tensor/program.ts';

/** How a tensor is filled before the first step. */
export type Init =
  | { readonly kind: 'constant'; readonly value: number }
  | { readonly kind: 'uniform'; readonly bound: number }
  | { readonly kind: 'normal'; readonly deviation: number }
  | { readonly kind: 'given'; readonly values: Float32Array };

export const filled = (value: number): Init => ({ kind: 'constant', value });
export const uniform = (bound: number): Init => ({ kind: 'uniform', bound });
export const normal = (deviation: number): Init => ({ kind: 'normal', deviation });

/** Values from elsewhere. */
export const given = (values: Float32Array): Init => ({ kind: 'given', values });

/** U(±1/√fanIn): what PyTorch gives dense and convolution layers, and their biases. */
export const fanInUniform = (fanIn: number): Init => uniform(1 / Math.sqrt(fanIn));

/** N(0, 2/fan): He et al., "Delving deep into rectifiers", 2015. */
export const heNormal = (fan: number): Init => normal(Math.sqrt(2 / fan));

/** A tensor's place in a flat row. */
export interface PlacedTensor {
  readonly name: string;
  readonly shape: Shape;
  readonly offset: number;
  readonly size: number;
  readonly init: Init;
}

export interface PlacedParameter extends PlacedTensor {
  readonly kind: ParameterKind;
}

/** The tensors of a flat row, one after the other without gaps. */
export type Layout<T extends PlacedTensor = PlacedTensor> = readonly T[];

/** The length of a row. */
export const rowSize = (layout: Layout): number => layout.reduce((sum, { size }) => sum + size, 0);

/** Where each tensor begins, and where the last one ends. */
export const offsetsOf = (layout: Layout): number[] => [...layout.map(({ offset }) => offset), rowSize(layout)];

/** The layout with one more tensor at its end. */
export function place<T extends PlacedTensor>(layout: Layout<T>, tensor: Omit<T, 'offset' | 'size'>): Layout<T> {
  return [...layout, { ...tensor, offset: rowSize(layout), size: sizeOf(tensor.shape) } as T];
}

/** A new row, each tensor drawn from its own stream: adding a tensor does not change the others. */
export function initialise(layout: Layout, seed: number): Float32Array {
  const row = new Float32Array(rowSize(layout));
  layout.forEach(({ offset, size, init }, index) => {
    const view = row.subarray(offset, offset + size);
    const random = new Random(seed, 'init', 0, index);
    if (init.kind === 'constant') view.fill(init.value);
    else if (init.kind === 'given') view.set(init.values);
    else if (init.kind === 'uniform') for (let i = 0; i < size; i++) view[i] = (2 * random.uniform() - 1) * init.bound;
    else for (let i = 0; i < size; i++) view[i] = random.normal() * init.deviation;
  });
  return row;
}

/** Views of a row's tensors, named `prefix/tensor`. */
export function views(row: Float32Array, layout: Layout, prefix: string): Record<string, Float32Array> {
  return Object.fromEntries(
    layout.map(({ name, offset, size }) => [`${prefix}/${name}`, row.subarray(offset, offset + size)]),
  );
}
