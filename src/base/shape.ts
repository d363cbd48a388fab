/** Number of elements of a tensor or sample of this shape. */
export const sizeOf = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1);
