import { Heap } from './heap.ts';
import type { Messages } from './messages.ts';
import type { Network } from './network.ts';

export interface Journeys {
  /** By sender. */
  readonly ready: Float64Array;
  /** By message. */
  readonly start: Float64Array;
  readonly left: Float64Array;
  readonly earliest: Float64Array;
  /** If it was not heard: when it would have been there. */
  readonly end: Float64Array;
  /** 1 if the receiver heard it before it went on. */
  readonly heard: Uint8Array;
  /** How often it was lost on its way, and how often it was sent. */
  readonly lost: Int32Array;
  readonly sent: Int32Array;
}

/** How long replicas wait for messages, and what becomes of those that are lost. */
export interface Reception {
  readonly wait:
    | { readonly kind: 'all' }
    | { readonly kind: 'timeout'; readonly ns: number }
    | { readonly kind: 'quorum'; readonly count: number };
  /** After so long a message that was lost is sent again; ∞: never. */
  readonly againNs: number;
}

/** Everything comes, and everybody waits for it. */
const patient: Reception = { wait: { kind: 'all' }, againNs: Number.POSITIVE_INFINITY };

/** When each port is free again. */
interface Ports {
  readonly upFree: Float64Array;
  readonly downFree: Float64Array;
}

/** Carries messages through the ports of a network, and says how long replicas listen to them. */
export class Post {
  journeys: Omit<Journeys, 'ready'> = journeys(0);
  readonly #network: Network;
  readonly #reception: Reception;
  readonly #arrived: Float64Array;
  /** By replica: until when it listens, and how many others it has heard in full. */
  readonly #until: Float64Array;
  readonly #count: Int32Array;
  /** By sender · n + receiver: how many parts of a model have been heard. */
  readonly #parts = new Map<number, number>();

  constructor(network: Network, reception: Reception = patient) {
    this.#network = network;
    this.#reception = reception;
    this.#arrived = new Float64Array(network.n);
    this.#until = new Float64Array(network.n);
    this.#count = new Int32Array(network.n);
  }

  /**
   * @param ready when each sender is ready
   * @param losses how often messages are lost, by sender · n + receiver
   * @param given when receivers go on without those who have left
   * @returns when each replica goes on, 0 if it hears nobody; read only until the next call
   */
  carry(
    messages: Messages,
    ready: Float64Array,
    { upFree, downFree }: Ports,
    losses: ReadonlyMap<number, number>,
    given: ReadonlyMap<number, number>,
  ): Float64Array {
    const { from, to } = messages;
    const { n, sharing } = this.#network;
    const { wait, againNs } = this.#reception;
    if (this.journeys.end.length < from.length) this.journeys = journeys(from.length);
    const { end, heard, lost, sent } = this.journeys;
    heard.fill(1);
    lost.fill(0);
    sent.fill(1);
    if (losses.size > 0)
      for (let m = 0; m < from.length; m++) {
        lost[m] = losses.get(from[m]! * n + to[m]!) ?? 0;
        if (againNs < Number.POSITIVE_INFINITY) sent[m]! += lost[m]!;
      }
    this.#count.fill(0);
    this.#parts.clear();
    this.#until.fill(Number.POSITIVE_INFINITY);
    if (wait.kind === 'timeout') for (let i = 0; i < n; i++) this.#until[i] = ready[i]! + wait.ns;
    if (sharing === 'serial') this.#oneByOne(messages, ready, upFree);
    else this.#atOnce(messages, ready);
    this.#receive(messages, ready, sharing === 'serial' ? downFree : undefined);
    const arrived = this.#arrived.fill(0);
    for (let m = 0; m < to.length; m++) if (end[m]! > arrived[to[m]!]!) arrived[to[m]!] = end[m]!;
    for (const [i, ns] of given) arrived[i] = Math.max(arrived[i]!, ns);
    // Who has enough, or has waited for too long, does not wait for the rest.
    if (wait.kind !== 'all') for (let i = 0; i < n; i++) arrived[i] = Math.min(arrived[i]!, this.#until[i]!);
    return arrived;
  }

  /** All at the same time; ports that they share are slower for it. */
  #atOnce({ from, wholeNs }: Messages, ready: Float64Array): void {
    const { start, left } = this.journeys;
    for (let m = 0; m < from.length; m++) {
      start[m] = ready[from[m]!]!;
      left[m] = start[m]! + wholeNs[m]!;
    }
  }

  /** Ports carry one message at a time. Latency never occupies a port. */
  #oneByOne({ from, upStart, upNs, upOrder, sharedUp }: Messages, ready: Float64Array, upFree: Float64Array): void {
    const { start, left } = this.journeys;
    for (let m = 0; m < from.length; m++) start[m] = ready[from[m]!]!;
    for (let port = 0; port < upFree.length; port++) {
      const [first, last] = [upStart[port]!, upStart[port + 1]!];
      if (sharedUp[port] === 1) sortBy(upOrder, first, last, start);
      let free = upFree[port]!;
      for (let place = first; place < last; place++) {
        const m = upOrder[place]!;
        if (free > start[m]!) start[m] = free;
        free = start[m]! + upNs[m]!;
        left[m] = free;
      }
      upFree[port] = free;
    }
  }

  /**
   * What is heard is taken by its last bit, then by sender: port by port, or, if replicas wait for a quorum, by the time at which it is there, as one may
   * hear through several ports.
   *
   * @param downFree undefined if messages do not wait for each other
   */
  #receive(messages: Messages, ready: Float64Array, downFree: Float64Array | undefined): void {
    const { from, downStart, downNs, wholeNs, downOrder, downRank } = messages;
    const { start, earliest, lost } = this.journeys;
    const quorum = this.#reception.wait.kind === 'quorum';
    for (let m = 0; m < from.length; m++) earliest[m] = start[m]! + wholeNs[m]! + this.#lateNs(lost[m]!);
    const next = downStart.slice(0, -1);
    const waits = (port: number) => next[port]! < downStart[port + 1]!;
    const time = (port: number) => {
      const m = downOrder[next[port]!]!;
      return downFree === undefined ? earliest[m]! : Math.max(earliest[m]!, downFree[port]! + downNs[m]!);
    };
    const take = (port: number, at: number) => {
      const m = downOrder[next[port]!]!;
      next[port]! += 1;
      // What nobody listens to any more takes no time of the port.
      if (this.#take(messages, m, at, start[m]! + wholeNs[m]!, ready) && downFree !== undefined) downFree[port] = at;
    };
    const queue = new Heap<{ readonly port: number; readonly at: number }>(
      (a, b) => a.at < b.at || (a.at === b.at && a.port < b.port),
    );
    for (let port = 0; port < next.length; port++) {
      if (quorum || downFree !== undefined) sortBy(downOrder, next[port]!, downStart[port + 1]!, earliest, downRank);
      if (!quorum) while (waits(port)) take(port, time(port));
      else if (waits(port)) queue.push({ port, at: time(port) });
    }
    for (let left = quorum ? from.length : 0; left > 0; left--) {
      const { port, at } = queue.pop();
      take(port, at);
      if (waits(port)) queue.push({ port, at: time(port) });
    }
  }

  /** How much later a message comes that is lost so often. */
  #lateNs(lost: number): number {
    return lost === 0 ? 0 : lost * this.#reception.againNs;
  }

  /**
   * Message m is there at a time, ∞ if it never is: whether its receiver still listens. One that never comes is given up when it would have been
   * there, `expected`, unless the receiver waits for a time of its own.
   */
  #take({ from, to }: Messages, m: number, at: number, expected: number, ready: Float64Array): boolean {
    const { wait } = this.#reception;
    const { heard, end } = this.journeys;
    const [i, never] = [to[m]!, at === Number.POSITIVE_INFINITY];
    end[m] = never && wait.kind !== 'timeout' ? expected : at;
    if (never || at > this.#until[i]!) {
      heard[m] = 0;
      return false;
    }
    if (wait.kind !== 'quorum') return true;
    const link = from[m]! * this.#network.n + i;
    const parts = (this.#parts.get(link) ?? 0) + 1;
    this.#parts.set(link, parts);
    if (parts < this.#network.stages) return true;
    this.#count[i]! += 1;
    if (this.#count[i] === wait.count) this.#until[i] = Math.max(at, ready[i]!);
    return true;
  }
}

const journeys = (count: number) => ({
  start: new Float64Array(count),
  left: new Float64Array(count),
  earliest: new Float64Array(count),
  end: new Float64Array(count),
  heard: new Uint8Array(count),
  lost: new Int32Array(count),
  sent: new Int32Array(count),
});

/** Sorts order[first … last−1] by key, then by rank: by insertion, as the order of the step before is almost right. */
function sortBy(order: Int32Array, first: number, last: number, key: Float64Array, rank?: Int32Array): void {
  for (let place = first + 1; place < last; place++) {
    const m = order[place]!;
    const [time, own] = [key[m]!, rank === undefined ? m : rank[m]!];
    let at = place;
    for (; at > first; at--) {
      const before = order[at - 1]!;
      if (key[before]! < time || (key[before] === time && (rank === undefined ? before : rank[before]!) < own)) break;
      order[at] = before;
    }
    order[at] = m;
  }
}
