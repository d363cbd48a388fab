import { sizeOf } from '../base/shape.ts';
import type { Attributes, Inputs, OpKind, Outputs, Shape } from './program.ts';

/** A tensor of the reference: float64, row-major. */
export interface Dense {
  readonly shape: Shape;
  readonly data: Float64Array;
}

export type ReferenceRule<K extends OpKind> = (
  inputs: Inputs<K, Dense>,
  attributes: Attributes<K>,
  outputs: Outputs<K, Shape>,
) => Outputs<K, Dense>;

export const dense = (shape: Shape, at: (index: number) => number): Dense => ({
  shape,
  data: Float64Array.from({ length: sizeOf(shape) }, (_, index) => at(index)),
});

/** The position of a flat index along each axis. */
export function positionOf(index: number, shape: Shape): number[] {
  const position = shape.map(() => 0);
  for (let axis = shape.length - 1, rest = index; axis >= 0; axis--) {
    position[axis] = rest % shape[axis]!;
    rest = Math.floor(rest / shape[axis]!);
  }
  return position;
}

/** The element at a position, whose leading axes may be more than the tensor has and whose axes of size 1 repeat. */
export function at({ shape, data }: Dense, position: readonly number[]): number {
  const extra = position.length - shape.length;
  return data[shape.reduce((index, size, axis) => index * size + (size === 1 ? 0 : position[axis + extra]!), 0)]!;
}
