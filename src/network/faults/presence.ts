import { UserError } from '../../base/error.ts';
import { nanoseconds } from '../units.ts';
import { type Away, awayOf } from './away.ts';
import type { Sources } from './loss.ts';
import { type ChurnSettings, churnUnit } from './settings.ts';

/** Who takes part in a step. */
export interface Attendance {
  /** Those who neither compute nor are heard, ascending; the same list as long as nothing changes. */
  readonly absent: readonly number[];
  /** Of them, those who took part in the step before. */
  readonly left: readonly number[];
  /** Those who did not, and the neighbours whose mean they take. */
  readonly returned: readonly { readonly replica: number; readonly from: readonly number[] }[];
  /** Of those who left while they computed: when those who wait for them go on. */
  readonly silent: ReadonlyMap<number, number>;
}

/** What presence by time needs to know. */
export interface PresenceClock {
  /** When each replica has finished the step before; those who return are set to when they begin. */
  readonly finished: Float64Array;
  compute(replica: number): number;
  /** How long it takes to hear the parameters of these. */
  downloadNs(replica: number, from: readonly number[]): number;
}

/** Attempts to find a step in which somebody computes to its end. */
const mostAttempts = 100_000;

/** Who is there, step by step. What outlasts a step is who was away in the last one. */
export class Presence {
  /** 1 for those who were away. */
  readonly out: Uint8Array;
  readonly #away: Away;
  readonly #byTime: boolean;
  readonly #noticedNs: number;
  readonly #back: ChurnSettings['back'];
  #absent: readonly number[] = [];

  constructor(churn: ChurnSettings, { n, seed }: { readonly n: number; readonly seed: number }) {
    this.out = new Uint8Array(n);
    this.#away = awayOf(churn, { n, seed });
    this.#byTime = churnUnit(churn) === 'time';
    this.#noticedNs = Math.round(nanoseconds(churn.noticed));
    this.#back = churn.back;
  }

  /** @param sources whom each replica hears in the step's first gossip */
  begin(t: number, sources: Sources, clock: PresenceClock | undefined): Attendance {
    const before = this.out.slice();
    const silent = new Map<number, number>();
    const returned: { replica: number; from: readonly number[] }[] = [];
    if (this.#byTime) this.#byTimes(sources, clock!, before, silent, returned);
    else this.#bySteps(t, sources, clock, before, returned);
    const absent = Array.from(this.out.keys()).filter((i) => this.out[i] === 1);
    if (absent.join() !== this.#absent.join()) this.#absent = absent;
    return { absent: this.#absent, left: absent.filter((i) => before[i] === 0), returned, silent };
  }

  #bySteps(
    t: number,
    sources: Sources,
    clock: PresenceClock | undefined,
    before: Uint8Array,
    returned: { replica: number; from: readonly number[] }[],
  ): void {
    const until = (i: number) => this.#away.last(i, t)?.to ?? 0;
    for (let i = 0; i < this.out.length; i++) this.out[i] = until(i) > t ? 1 : 0;
    if (this.out.every((out) => out === 1)) this.out[firstLeast(this.out, until)] = 0;
    for (let i = 0; i < this.out.length; i++) {
      if (before[i] === 0 || this.out[i] === 1) continue;
      const from = this.#neighbours(i, sources, before);
      if (clock !== undefined)
        clock.finished[i] =
          this.#latest(clock.finished, from, before, clock.finished[i]!) + this.#download(clock, i, from);
      returned.push({ replica: i, from });
    }
  }

  #byTimes(
    sources: Sources,
    clock: PresenceClock,
    before: Uint8Array,
    silent: Map<number, number>,
    returned: { replica: number; from: readonly number[] }[],
  ): void {
    const { finished } = clock;
    const [last, next] = [this.#away.last, this.#away.next];
    /** When it leaves in the time that it computes, from then on. */
    const leaves = (i: number, start: number) => {
      const from = next(i, start)?.from;
      return from !== undefined && from < start + clock.compute(i) ? from : undefined;
    };
    const isAway = (i: number, time: number) => (last(i, time)?.to ?? 0) > time;
    for (let i = 0; i < before.length; i++) {
      if (before[i] === 1) continue;
      const left = isAway(i, finished[i]!) ? finished[i]! : leaves(i, finished[i]!);
      if (left === undefined) continue;
      this.out[i] = 1;
      if (left > finished[i]!) silent.set(i, left + this.#noticedNs);
    }
    const there = this.out.slice();
    for (let i = 0; i < before.length; i++) {
      if (before[i] === 0) continue;
      const from = this.#neighbours(i, sources, there);
      const start = this.#latest(finished, from, there, Number.NaN);
      const end = last(i, start)?.to ?? 0;
      if (!(end + this.#download(clock, i, from) <= start) || leaves(i, start) !== undefined) continue;
      this.out[i] = 0;
      finished[i] = start;
      returned.push({ replica: i, from });
    }
    // Nobody is there: time passes until somebody is, for long enough.
    for (let attempt = 0; this.out.every((out) => out === 1); attempt++) {
      const back = (i: number) => {
        let time = finished[i]!;
        while (isAway(i, time)) time = last(i, time)!.to;
        return time;
      };
      const first = firstLeast(this.out, back);
      const start = back(first);
      if (attempt === mostAttempts || !Number.isFinite(start))
        throw new UserError('faults.churn: nobody is there for as long as a step takes', {
          hint: 'let replicas be there for longer, or give them faster devices',
        });
      const leave = leaves(first, start);
      finished[first] = leave ?? start;
      if (leave !== undefined) continue;
      this.out[first] = 0;
      silent.clear();
      if (before[first] === 1) returned.push({ replica: first, from: [] });
    }
  }

  /** Those whom i hears, of those who are not out. */
  #neighbours(i: number, sources: Sources, out: Uint8Array): readonly number[] {
    return sources[i]!.filter((j) => out[j] === 0);
  }

  /** When the last of them has finished; of all who are there if there is no neighbour. */
  #latest(finished: Float64Array, from: readonly number[], out: Uint8Array, otherwise: number): number {
    const those = from.length > 0 ? from : Array.from(out.keys()).filter((i) => out[i] === 0);
    return those.length === 0 ? otherwise : those.reduce((most, j) => Math.max(most, finished[j]!), 0);
  }

  #download(clock: PresenceClock, i: number, from: readonly number[]): number {
    return this.#back === 'mean' && from.length > 0 ? clock.downloadNs(i, from) : 0;
  }
}

/** The first of those with the least value. */
function firstLeast(of: Uint8Array, value: (i: number) => number): number {
  let best = 0;
  for (let i = 1; i < of.length; i++) if (value(i) < value(best)) best = i;
  return best;
}
