import { edgeName } from '../algorithm/edges.ts';
import type { EdgeSets } from '../topology/edges.ts';
import { type Mixing, stopsOf } from '../topology/mixing.ts';
import type { Transport } from '../transport/transport.ts';

/** A number of each own replica, by name: those that a method keeps, weights of edges, and what a step computes on its way. */
export class ReplicaNumbers {
  readonly #own = new Map<string, Float64Array>();
  readonly #transport: Transport;

  constructor(starts: Readonly<Record<string, number>>, edges: EdgeSets | undefined, transport: Transport) {
    this.#transport = transport;
    for (const [name, from] of Object.entries(starts)) this.own(name).fill(from);
    if (edges !== undefined) this.setEdges(edges);
  }

  /** The weights of edges, and which of them carry a message, all unless said. */
  setEdges(
    { weights, shares }: Pick<EdgeSets, 'weights' | 'shares'>,
    heard: (set: number, i: number) => boolean = () => true,
  ): void {
    const { first, last } = this.#transport;
    for (const [set, weight] of weights.entries()) {
      this.own(edgeName('weight', set + 1)).set(weight.subarray(first, last));
      const own = this.own(edgeName('heard', set + 1));
      for (let i = first; i < last; i++) own[i - first] = heard(set, i) ? 1 : 0;
    }
    this.own('share').set(shares.subarray(first, last));
  }

  /** Of all own replicas, to be read and written. */
  own(name: string): Float64Array {
    let own = this.#own.get(name);
    if (own === undefined) {
      own = new Float64Array(this.#transport.last - this.#transport.first);
      this.#own.set(name, own);
    }
    return own;
  }

  /** All of them. */
  all(): (readonly [name: string, own: Float64Array])[] {
    return [...this.#own];
  }

  of(name: string, i: number): number {
    return this.#own.get(name)![i - this.#transport.first]!;
  }

  /** Of one replica and those after it. */
  from(name: string, i: number): Float64Array {
    return this.own(name).subarray(i - this.#transport.first);
  }

  /** into ← W from: sums of few numbers, with the weights as kernels round them. */
  mix(from: string, into: string, mixing: Mixing): void {
    const { first, last } = this.#transport;
    const all = this.#transport.gather(this.own(from), 1);
    const surviving = this.#transport.surviving(mixing);
    const { start, source, weight } = surviving;
    const stop = stopsOf(surviving);
    const own = this.own(into);
    for (let i = first; i < last; i++) {
      let sum = 0;
      for (let e = start[i]!; e < stop[i]!; e++) sum += Math.fround(weight[e]!) * all[source[e]!]!;
      own[i - first] = sum;
    }
  }
}
