/** N values of a type, for lists whose length the compiler cannot see. */
export type Tuple<T, N extends number, All extends readonly T[] = []> = All['length'] extends N
  ? All
  : Tuple<T, N, readonly [...All, T]>;
