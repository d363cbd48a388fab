export type Memory = Readonly<Record<string, Float32Array>>;

/**
 * What stays with a replica and is never sent: optimizer slots and model state. A step reads one set of rows and must write
 * another, so there is one set more than replicas, and the free one goes round.
 */
export class PrivateRows {
  readonly #sets: readonly Memory[];
  readonly #at: number[];
  #free: number;

  constructor(initial: Memory, count: number) {
    const copy = () => Object.fromEntries(Object.entries(initial).map(([name, row]) => [name, row.slice()]));
    this.#sets = Array.from({ length: count + 1 }, copy);
    this.#at = Array.from({ length: count }, (_, i) => i);
    this.#free = count;
  }

  /** The rows of the replica with this place in its rank. */
  of(place: number): Memory {
    return this.#sets[this.#at[place]!]!;
  }

  /** What a step reads and what it writes; the latter are the replica's rows from now on. Equal keys mean equal memory. */
  turn(place: number): { readonly key: string; readonly from: Memory; readonly to: Memory } {
    const [from, to] = [this.#at[place]!, this.#free];
    this.#at[place] = to;
    this.#free = from;
    return { key: `${from} ${to}`, from: this.#sets[from]!, to: this.#sets[to]! };
  }
}
