import { Random } from '../base/random.ts';
import { cycleMeans } from './cycle.ts';
import type { ComputeTimes } from './devices.ts';
import type { Network } from './network.ts';
import { transferNs } from './units.ts';

/** Replica i lives on device order[i]: the network as replicas see it. Ports stay with their devices. */
export function placedNetwork(network: Network, order: readonly number[]): Network {
  const { names, machines } = network;
  return {
    ...network,
    way: (from, to) => network.way(order[from]!, order[to]!),
    ways: (from, to) => network.ways(order[from]!, order[to]!),
    ...(names && { names: order.map((device) => names[device]!) }),
    ...(machines && { machines: Int32Array.from(order, (device) => machines[device]!) }),
  };
}

export const placedCompute =
  (compute: ComputeTimes, order: readonly number[]): ComputeTimes =>
  (replica, step) =>
    compute(order[replica]!, step);

/** Plain gossip: who hears whom, round after round, and the bytes of a model. */
export interface PlainGossip {
  readonly network: Network;
  readonly compute: ComputeTimes;
  readonly rounds: readonly (readonly (readonly number[])[])[];
  readonly bytes: number;
}

interface Rated {
  readonly order: readonly number[];
  /** Time per step, and all times together: tells orders with equal steps apart, so that a search crosses plateaus. */
  readonly ns: number;
  readonly sum: number;
}

/** Orders that are tried, and edges that are looked at for all of them: about a second. */
const [mostTried, mostLooks] = [50_000, 1.5e8];

/**
 * Orders of the devices, the best first, by the largest cycle mean of "computes, sends to the next". Messages of one sender queue; that others
 * queue at a receiver is not known before the steps are followed, so the first few are returned for that. A pure function of its arguments: all orders of few
 * devices (8 on most topologies), else swaps and turned stretches from the listed order and from random ones for as long as one helps.
 */
export function fastOrders(
  gossip: PlainGossip,
  seed: number,
  count: number,
): { readonly orders: readonly (readonly number[])[]; readonly all: boolean } {
  const best = new Best(count);
  const { n } = gossip.network;
  const rate = raterOf(gossip);
  const tries = triesFor(gossip);
  let orders = 1;
  for (let i = 2; i <= n && orders <= tries; i++) orders *= i;
  const all = orders <= tries;
  if (all) for (const order of permutations(n)) best.add(rate(order));
  else descend(rate, best, n, seed, tries);
  return { orders: best.orders, all };
}

function triesFor({ network, rounds }: PlainGossip): number {
  const nodes = network.n * rounds.length;
  const edges = nodes + rounds.reduce((sum, sources) => sum + sources.flat().length, 0);
  // The way of a message takes as long as some ten looks.
  return Math.min(mostTried, Math.ceil(mostLooks / (edges * (nodes + 10))));
}

const better = (a: Rated, b: Rated) => a.ns < b.ns || (a.ns === b.ns && a.sum < b.sum);

/** The best few of all that are added. */
class Best {
  readonly #kept: Rated[] = [];
  readonly #count: number;

  constructor(count: number) {
    this.#count = count;
  }

  get orders(): readonly (readonly number[])[] {
    return this.#kept.map(({ order }) => order);
  }

  add(rated: Rated): void {
    if (this.#kept.length === this.#count && !better(rated, this.#kept.at(-1)!)) return;
    const place = this.#kept.findIndex((kept) => better(rated, kept));
    this.#kept.splice(place < 0 ? this.#kept.length : place, 0, { ...rated, order: [...rated.order] });
    this.#kept.length = Math.min(this.#kept.length, this.#count);
  }
}

/** Rounds one after the other as layers of a graph: λ is its largest cycle mean. */
function raterOf({ network, compute, rounds, bytes }: PlainGossip): (order: readonly number[]) => Rated {
  const { n } = network;
  const nodes = n * rounds.length;
  const computeNs = Float64Array.from({ length: n }, (_, device) => compute(device, 0));
  const journey = journeysOf(network, bytes);
  // In the order in which a port carries them, and each with itself.
  const edges = rounds.map((sources) => {
    const list = sources.flatMap((row, to) => row.map((from) => ({ from, to, offset: (to - from + n) % n })));
    return list.sort((a, b) => a.offset - b.offset || a.from - b.from);
  });
  const [from, to] = [0, 1].map((end) =>
    Int32Array.from(
      edges.flatMap((list, round) => {
        const layer = ((round + end) % rounds.length) * n;
        const ends = list.map((edge) => layer + (end === 0 ? edge.from : edge.to));
        return [...Array.from({ length: n }, (_, i) => layer + i), ...ends];
      }),
    ),
  ) as [Int32Array, Int32Array];
  const ns = new Float64Array(from.length);
  const largest = cycleMeans(nodes, from, to);
  return (order) => {
    let [at, sum] = [0, 0];
    for (const list of edges) {
      for (let i = 0; i < n; i++) ns[at++] = computeNs[order[i]!]!;
      journey.start(list, order);
      for (const edge of list) {
        const taken = journey.next(order[edge.from]!, order[edge.to]!);
        sum += taken;
        ns[at++] = computeNs[order[edge.from]!]! + taken;
      }
    }
    return { order, ns: largest(ns), sum };
  };
}

/** How long the messages of a round take, one after the other: behind those that left before by the same port, or beside all that share it. */
function journeysOf(network: Network, rowBytes: number) {
  const { n, upRates, downRates, sharing, overheadNs } = network;
  const bytes = rowBytes / network.stages;
  const ways = Array.from({ length: n * n }, (_, at) => {
    const [from, to] = [Math.floor(at / n), at % n];
    return (from === to ? [] : network.ways(from, to)).map((way) => ({
      ...way,
      upNs: overheadNs + transferNs(bytes, Math.min(way.rate, upRates[way.up]!)),
      pathNs: transferNs(bytes, way.rate),
      aloneNs: transferNs(bytes, Math.min(way.rate, upRates[way.up]!, downRates[way.down]!)),
    }));
  });
  /** Time that each port is busy, or messages that pass it. */
  const [up, down] = [new Float64Array(upRates.length), new Float64Array(downRates.length)];
  return {
    start(list: readonly { readonly from: number; readonly to: number }[], order: readonly number[]): void {
      up.fill(0);
      down.fill(0);
      if (sharing !== 'fair') return;
      for (const { from, to } of list)
        for (const way of ways[order[from]! * n + order[to]!]!) {
          up[way.up]! += 1;
          down[way.down]! += 1;
        }
    },
    next(from: number, to: number): number {
      let last = 0;
      for (const way of ways[from * n + to]!) {
        let taken = way.aloneNs;
        if (sharing === 'serial') {
          taken += up[way.up]! + overheadNs;
          up[way.up]! += way.upNs;
        }
        if (sharing === 'fair')
          taken = Math.max(
            transferNs(up[way.up]! * bytes, upRates[way.up]!),
            transferNs(down[way.down]! * bytes, downRates[way.down]!),
            way.pathNs,
          );
        last = Math.max(last, way.latencyNs + taken);
      }
      return last;
    },
  };
}

function* permutations(n: number): Generator<readonly number[]> {
  const order = Array.from({ length: n }, (_, i) => i);
  yield order;
  // Lexicographic: the next after the longest falling tail.
  for (;;) {
    let at = n - 2;
    while (at >= 0 && order[at]! > order[at + 1]!) at -= 1;
    if (at < 0) return;
    let other = n - 1;
    while (order[other]! < order[at]!) other -= 1;
    [order[at], order[other]] = [order[other]!, order[at]!];
    order.push(...order.splice(at + 1).reverse());
    yield order;
  }
}

function descend(rate: (order: readonly number[]) => Rated, best: Best, n: number, seed: number, tries: number): void {
  let left = tries;
  for (let start = 0; left > 0; start++) {
    const random = new Random(seed, 'schedule', 4, start);
    let now = rate(start === 0 ? Array.from({ length: n }, (_, i) => i) : [...random.permutation(n)]);
    best.add(now);
    for (let moved = true; moved && left > 0; ) {
      moved = false;
      const places = random.permutation(n);
      for (let i = 0; i < n && left > 0; i++)
        for (let j = 0; j < i && left > 0; j++)
          for (const change of [swapped, turned]) {
            const next = rate(change(now.order, places[i]!, places[j]!));
            left -= 1;
            if (!better(next, now)) continue;
            [now, moved] = [next, true];
            best.add(now);
          }
    }
  }
}

const swapped = (order: readonly number[], a: number, b: number) => order.with(a, order[b]!).with(b, order[a]!);

function turned(order: readonly number[], a: number, b: number): readonly number[] {
  const [first, last] = [Math.min(a, b), Math.max(a, b)];
  return [...order.slice(0, first), ...order.slice(first, last + 1).reverse(), ...order.slice(last + 1)];
}
