import { UserError } from '../base/error.ts';
import type { Between } from '../topology/cohort.ts';
import { collectiveOf, doublingNs } from './collective.ts';
import type { ComputeTimes } from './devices.ts';
import { type Messages, messagesOf } from './messages.ts';
import type { Network } from './network.ts';
import type { Pattern, Work } from './pattern.ts';
import { type Journeys, Post, type Reception } from './post.ts';
import { mostNs } from './units.ts';

/** Whom each replica hears, in the gossip of this number: among its neighbours, or between servers and clients. */
export type Hearing = (gossip: number, between?: Between) => readonly (readonly number[])[];

/** Is told what happens, in the order of cause and effect. Arrays are read only until the call returns. */
export interface Watcher {
  compute?(replica: number, start: number, end: number): void;
  /** Of message m: ready on the sender, begins to leave, has left, is there at the earliest, is there. */
  exchange?(messages: Messages, times: Journeys): void;
  /** @param numbers a few numbers, summed by recursive doubling */
  mean?(start: number, end: number, bytes: number, numbers: boolean): void;
  step?(step: number): void;
}

/** What goes wrong in a step. */
export interface Troubles {
  /** Those who neither compute nor send. */
  readonly absent: readonly number[];
  /** Of those who left while others counted on them: by receiver, when it goes on without them. */
  readonly given: ReadonlyMap<number, number>;
  /** Of a gossip of the step: how often messages are lost, by sender · n + receiver. */
  lost(gossip: number): ReadonlyMap<number, number>;
}

const nothing: ReadonlyMap<number, number> = new Map();
const untroubled: Troubles = { absent: [], given: nothing, lost: () => nothing };

/** What outlasts a step, in nanoseconds; a checkpoint holds it. */
export interface TimetableState {
  /** When each replica has finished its last step. */
  readonly finished: Float64Array;
  /** When each port is free again. */
  readonly upFree: Float64Array;
  readonly downFree: Float64Array;
  /** When each replica has all that was told so far. */
  readonly heard: Float64Array;
}

/**
 * When each replica computes, sends and finishes, step by step: F_i(t) of synchronous training without a barrier. All times are whole
 * nanoseconds, made by + and max alone, so that they are the same in any order of computing.
 */
export class Timetable {
  readonly state: TimetableState;
  /** Of the last step: when each replica began, and when it had computed last. */
  readonly started: Float64Array;
  readonly computed: Float64Array;
  readonly #network: Network;
  readonly #compute: ComputeTimes;
  readonly #watcher: Watcher;
  readonly #post: Post;
  #troubles = untroubled;
  /** By replica: how long its steps are predicted to take. Servers send to the slowest client first. */
  readonly #slowness: ArrayLike<number> | undefined;
  readonly #known = new WeakMap<object, Map<number, Messages>>();
  /** How long means of rows and of numbers take, by their bytes. */
  readonly #means = new Map<number, number>();
  readonly #sums = new Map<number, number>();
  /** By row and replica: when it is there. */
  #there = new Float64Array(0);
  readonly #ready: Float64Array;

  constructor(
    network: Network,
    compute: ComputeTimes,
    watcher: Watcher = {},
    reception?: Reception,
    slowness?: ArrayLike<number>,
  ) {
    const { n, upRates, downRates } = network;
    this.#network = network;
    this.#compute = compute;
    this.#watcher = watcher;
    this.#post = new Post(network, reception);
    this.#slowness = slowness;
    this.state = {
      finished: new Float64Array(n),
      upFree: new Float64Array(upRates.length),
      downFree: new Float64Array(downRates.length),
      heard: new Float64Array(n),
    };
    this.started = new Float64Array(n);
    this.computed = new Float64Array(n);
    this.#ready = new Float64Array(n);
  }

  /** As it was after some step. */
  restore(state: Readonly<Record<keyof TimetableState, ArrayLike<number>>>): void {
    for (const key of Object.keys(this.state) as (keyof TimetableState)[]) this.state[key].set(state[key]);
  }

  /**
   * One step: its own number, which noise is drawn by, what it does, and whom replicas hear.
   *
   * @param gossips averagings with the neighbours in this step: none if control found that none was needed; more than its pattern has are made by consensus control, one after the other
   * @param measured whether control measured the distance after each of them, for which all wait for all
   */
  step(
    t: number,
    pattern: Pattern,
    hearing: Hearing,
    gossips = 1,
    measured = false,
    troubles: Troubles = untroubled,
  ): void {
    const { n } = this.#network;
    const { finished } = this.state;
    const { absent } = troubles;
    const left = absent.map((i) => finished[i]!);
    this.#troubles = troubles;
    this.#watcher.step?.(t);
    if (this.#there.length < pattern.rows * n) this.#there = new Float64Array(pattern.rows * n);
    for (let row = 0; row < pattern.rows; row++) this.#there.set(finished, row * n);
    this.started.set(finished);
    this.computed.set(finished);
    for (const work of pattern.work)
      if (gossips === 0 && work.do === 'gossip')
        for (const [from, into] of work.rows) this.#row(into).set(this.#row(from));
      else this.#carryOut(t, work, hearing(0, work.do === 'gossip' ? work.between : undefined), absent);
    finished.set(this.computed);
    for (const row of pattern.kept) later(finished, this.#row(row));
    // First each gets a part of the mean row and two sums, which is half a mean; then a sum is enough.
    if (measured) this.#meet(pattern.rowBytes);
    for (let gossip = 1; gossip < gossips; gossip++) {
      this.#ready.set(finished);
      later(finished, this.#exchange(hearing(gossip), pattern.rowBytes, gossip));
      if (measured) this.#meet(16);
    }
    for (const [place, i] of absent.entries()) finished[i] = this.computed[i] = left[place]!;
    for (let i = 0; i < n; i++)
      if (!(finished[i]! <= mostNs))
        throw new UserError(
          `step ${t} would end after more than 104 days, the longest time that can be told exactly (2^53 ns)`,
          {
            hint: 'use a faster network or device, or fewer steps',
          },
        );
  }

  /** All wait for the last, and for half of a mean of so many bytes. */
  #meet(bytes: number): void {
    const { finished } = this.state;
    finished.fill(finished.reduce((most, time) => Math.max(most, time), 0) + Math.round(this.#meanNs(bytes) / 2));
  }

  #meanNs(bytes: number, numbers = false): number {
    const known = numbers ? this.#sums : this.#means;
    const ns = known.get(bytes) ?? (numbers ? doublingNs(this.#network, bytes) : collectiveOf(this.#network, bytes).ns);
    known.set(bytes, ns);
    return ns;
  }

  #row(row: number): Float64Array {
    const { n } = this.#network;
    return this.#there.subarray(row * n, (row + 1) * n);
  }

  #carryOut(t: number, work: Work, sources: readonly (readonly number[])[], absent: readonly number[]): void {
    const ready = this.#ready;
    switch (work.do) {
      case 'compute': {
        this.#gathered(work.from);
        const into = this.#row(work.into);
        later(ready, this.computed);
        for (let i = 0; i < ready.length; i++) {
          if (absent.includes(i)) continue;
          const end = ready[i]! + this.#compute(i, t);
          this.#watcher.compute?.(i, ready[i]!, end);
          this.computed[i] = end;
          into[i] = end;
        }
        return;
      }
      case 'local':
        this.#gathered(work.from);
        this.#row(work.into).set(ready);
        return;
      case 'gossip': {
        this.#gathered(work.rows.map(([from]) => from));
        const arrived = this.#exchange(sources, work.bytes, 0, work.between === 'down');
        later(arrived, ready);
        for (const [, into] of work.rows) this.#row(into).set(arrived);
        return;
      }
      case 'tell':
        this.#gathered([work.from]);
        later(this.state.heard, this.#exchange(sources, work.bytes, 0));
        this.#row(work.into).set(ready);
        return;
      case 'recall':
        this.#gathered([work.from]);
        later(ready, this.state.heard);
        this.#row(work.into).set(ready);
        return;
      case 'mean':
        this.#row(work.into).fill(this.#meanEnd(work, t));
        return;
    }
  }

  /** #ready: when all these rows are there, at the start of the step if there are none. */
  #gathered(rows: readonly number[]): void {
    this.#ready.set(this.started);
    for (const row of rows) later(this.#ready, this.#row(row));
  }

  /** A collective starts when the last replica is ready and ends for all together. */
  #meanEnd({ bytes, from, gradient, numbers = false }: Extract<Work, { do: 'mean' }>, t: number): number {
    const { buckets } = this.#network;
    const parts = gradient ? buckets : 1;
    const ns = this.#meanNs(bytes / parts, numbers);
    const there = this.#row(from);
    const last = there.reduce((most, time) => Math.max(most, time), 0);
    let end = parts === 1 ? last + ns : 0;
    // Part k is there after the forward pass, a third of the time, and k parts of the backward pass.
    for (let k = 1; parts > 1 && k <= parts; k++) {
      let known = 0;
      for (let i = 0; i < there.length; i++) {
        const c = this.#compute(i, t);
        known = Math.max(known, there[i]! - c + Math.round(c / 3 + (k * 2 * c) / (3 * parts)));
      }
      end = Math.max(end, known) + ns;
    }
    this.#watcher.mean?.(last, end, bytes, numbers);
    return end;
  }

  /** One message along every edge, ready at #ready; when each replica has heard all that it waits for, 0 if it hears nobody. */
  #exchange(
    sources: readonly (readonly number[])[],
    bytes: number,
    gossip: number,
    slowestFirst = false,
  ): Float64Array {
    const messages = this.#messages(sources, bytes, slowestFirst);
    const { lost, given } = this.#troubles;
    const arrived = this.#post.carry(messages, this.#ready, this.state, lost(gossip), given);
    this.#watcher.exchange?.(messages, { ready: this.#ready, ...this.#post.journeys });
    return arrived;
  }

  #messages(sources: readonly (readonly number[])[], bytes: number, slowestFirst: boolean): Messages {
    const known = this.#known.get(sources) ?? new Map<number, Messages>();
    const messages =
      known.get(bytes) ?? messagesOf(this.#network, sources, bytes, slowestFirst ? this.#slowness : undefined);
    this.#known.set(sources, known.set(bytes, messages));
    return messages;
  }
}

/** times ← the later of both, one by one. */
function later(times: Float64Array, others: Float64Array): void {
  for (let i = 0; i < times.length; i++) if (others[i]! > times[i]!) times[i] = others[i]!;
}
