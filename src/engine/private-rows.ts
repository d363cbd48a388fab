import { allocatePrivateRows } from '../kernel/memory.ts';

export type PrivateMemory = Readonly<Record<string, Float32Array>>;

/** Which set of rows a step reads and which it writes. */
export interface Turn {
  readonly from: number;
  readonly to: number;
}

/**
 * What stays with a replica and is never sent: optimizer slots and model state. A step reads one set of rows and must write
 * another, so there is one set more than replicas, and the free one goes round.
 */
export class PrivateRows {
  readonly #sets: readonly PrivateMemory[];
  readonly #at: number[];
  #free: number;

  constructor(initial: PrivateMemory, count: number) {
    const rows = Object.entries(initial).map(([name, row]) => {
      const copies = allocatePrivateRows(row.length, count + 1);
      // They begin as zeros, and memory that is not touched takes none.
      if (row.some((value) => value !== 0)) for (const copy of copies) copy.set(row);
      return [name, copies] as const;
    });
    this.#sets = Array.from({ length: count + 1 }, (_, set) =>
      Object.fromEntries(rows.map(([name, copies]) => [name, copies[set]!])),
    );
    this.#at = Array.from({ length: count }, (_, i) => i);
    this.#free = count;
  }

  /** What each set consists of. */
  get names(): readonly string[] {
    return Object.keys(this.#sets[0]!);
  }

  /** The rows of the replica with this place in its rank. */
  of(place: number): PrivateMemory {
    return this.#sets[this.#at[place]!]!;
  }

  /** One set of rows. */
  rows(set: number): PrivateMemory {
    return this.#sets[set]!;
  }

  /** What a step reads and what it writes; the latter are the replica's rows from now on. */
  turn(place: number): Turn {
    const [from, to] = [this.#at[place]!, this.#free];
    this.#at[place] = to;
    this.#free = from;
    return { from, to };
  }
}
