/**
 * Pairs the devices of two groups so that the dearest pair is as cheap as it can be: edges are let in from the cheapest on, and
 * pairs grow along augmenting paths until all are matched. `partner[j]` is the index in `from` of the j-th device in `to`.
 */
export class Matching {
  readonly partner: Int32Array;
  readonly #size: number;
  readonly #edge: Float64Array;
  readonly #seen: Uint8Array;

  constructor(size: number) {
    this.#size = size;
    this.partner = new Int32Array(size);
    this.#edge = new Float64Array(size * size);
    this.#seen = new Uint8Array(size);
  }

  /** The dearest pair's cost. */
  solve(cost: Float64Array, columns: number, from: ArrayLike<number>, to: ArrayLike<number>): number {
    const size = this.#size;
    const edge = this.#edge;
    // Nobody can do better than their own cheapest edge, so the limit starts at the largest of those.
    let limit = 0;
    for (let i = 0; i < size; i++) {
      let least = Number.POSITIVE_INFINITY;
      for (let j = 0; j < size; j++) {
        const value = cost[from[i]! * columns + to[j]!]!;
        edge[i * size + j] = value;
        if (value < least) least = value;
      }
      if (least > limit) limit = least;
    }
    for (let j = 0; j < size; j++) {
      let least = Number.POSITIVE_INFINITY;
      for (let i = 0; i < size; i++) least = Math.min(least, edge[i * size + j]!);
      if (least > limit) limit = least;
    }
    this.partner.fill(-1);
    for (let i = 0; i < size; i++)
      while (!this.#augmented(i, limit)) {
        let next = Number.POSITIVE_INFINITY;
        for (let e = 0; e < size * size; e++) if (edge[e]! > limit && edge[e]! < next) next = edge[e]!;
        limit = next;
      }
    return limit;
  }

  #augmented(i: number, limit: number): boolean {
    this.#seen.fill(0);
    return this.#grow(i, limit);
  }

  #grow(i: number, limit: number): boolean {
    const size = this.#size;
    for (let j = 0; j < size; j++) {
      if (this.#seen[j] !== 0 || this.#edge[i * size + j]! > limit) continue;
      this.#seen[j] = 1;
      if (this.partner[j]! < 0 || this.#grow(this.partner[j]!, limit)) {
        this.partner[j] = i;
        return true;
      }
    }
    return false;
  }
}
