import { UserError } from '../../base/error.ts';
import { Random } from '../../base/random.ts';
import { type ChurnSettings, churnUnit, type Duration, spanValue } from './settings.ts';

/** From ≤ time < to, in steps or nanoseconds. */
export interface Interval {
  readonly from: number;
  readonly to: number;
}

/** When replicas are away: a pure function of the settings and the seed. */
export interface Away {
  /** The interval that has begun last at this time, whether or not it is over. */
  last(replica: number, time: number): Interval | undefined;
  /** The first one that begins at this time or later. */
  next(replica: number, time: number): Interval | undefined;
}

/** Intervals one after the other, that may be endless; what was asked for is kept. */
class Intervals {
  readonly #known: Interval[] = [];
  readonly #more: Iterator<Interval>;
  #ended = false;

  constructor(all: Iterable<Interval>) {
    this.#more = all[Symbol.iterator]();
  }

  /** The number of those that begin before this time, or at it. */
  begunBy(time: number, inclusive: boolean): number {
    const begun = ({ from }: Interval) => from < time || (inclusive && from === time);
    while (!this.#ended && (this.#known.length === 0 || begun(this.#known.at(-1)!))) {
      const { value, done } = this.#more.next();
      if (done) this.#ended = true;
      else this.#known.push(value);
    }
    let [low, high] = [0, this.#known.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (begun(this.#known[middle]!)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  at(place: number): Interval | undefined {
    return this.#known[place];
  }
}

export function awayOf(churn: ChurnSettings, { n, seed }: { readonly n: number; readonly seed: number }): Away {
  const whole = churnUnit(churn) === 'time' ? Math.round : (value: number) => value;
  const all = Array.from({ length: n }, (_, i) => new Intervals(intervalsOf(churn, i, seed, whole)));
  return {
    last: (i, time) => all[i]!.at(all[i]!.begunBy(time, true) - 1),
    next: (i, time) => all[i]!.at(all[i]!.begunBy(time, false)),
  };
}

function intervalsOf(
  churn: ChurnSettings,
  i: number,
  seed: number,
  whole: (value: number) => number,
): Iterable<Interval> {
  switch (churn.kind) {
    case 'list':
      return listed(churn.away)
        .filter(({ replica }) => replica === i)
        .toSorted((a, b) => a.from - b.from);
    case 'onOff':
      return onOff(i, seed, spanValue(churn.on), spanValue(churn.off), whole);
    case 'diurnal':
      return diurnal(i, seed, churn, whole);
    case 'trace':
      throw new RangeError('a trace is read when the experiment is resolved');
  }
}

const listed = (away: readonly { readonly replica: number; readonly from: Duration; readonly to: Duration }[]) =>
  away.map(({ replica, from, to }) => ({ replica, from: spanValue(from), to: spanValue(to) }));

/** Everybody is there at first. */
function* onOff(i: number, seed: number, on: number, off: number, whole: (value: number) => number) {
  let time = 0;
  for (let k = 0; ; k++) {
    const random = new Random(seed, 'churn', i, k);
    const lasts = (mean: number) => whole(-mean * Math.log(1 - random.uniform()));
    const from = time + lasts(on);
    time = from + lasts(off);
    yield { from, to: time };
  }
}

/**
 * A share of least + (most − least)·(1 + cos(2πt/T))/2 is there: those whose number, drawn for each period, is below it. Periods are counted from
 * one quietest moment to the next.
 */
function* diurnal(
  i: number,
  seed: number,
  { least, most, period }: Extract<ChurnSettings, { kind: 'diurnal' }>,
  whole: (value: number) => number,
) {
  if (least >= 1) return;
  const length = spanValue(period);
  for (let k = 0; ; k++) {
    const u = new Random(seed, 'churn', i, k).uniform();
    if (u < least) continue;
    const [night, noon, nextNight] = [k - 0.5, k, k + 0.5].map((turns) => Math.max(0, whole(turns * length)));
    const half = u >= most ? 0 : whole((length * Math.acos((2 * (u - least)) / (most - least) - 1)) / (2 * Math.PI));
    if (noon! - half > night!) yield { from: night!, to: noon! - half };
    yield { from: noon! + half, to: nextNight! };
  }
}

/** What is wrong with a list of intervals for n replicas, as a UserError. */
export function checkAway(churn: ChurnSettings, n: number): void {
  churnUnit(churn);
  if (churn.kind === 'diurnal' && churn.most < churn.least)
    throw new UserError(`faults.churn: most must be at least least = ${churn.least}, got ${churn.most}`);
  if (churn.kind === 'diurnal' && spanValue(churn.period) <= 0)
    throw new UserError('faults.churn: the period must be above 0');
  if (churn.kind === 'onOff' && (spanValue(churn.on) <= 0 || spanValue(churn.off) <= 0))
    throw new UserError('faults.churn: on and off must be above 0');
  if (churn.kind !== 'list') return;
  const ends: { readonly at: number; readonly change: 1 | -1; readonly text: Duration }[] = [];
  for (let i = 0; i < churn.away.length; i++) {
    const { replica, from, to } = churn.away[i]!;
    const where = `faults.churn.away[${i}]`;
    if (replica >= n) throw new UserError(`${where}: there is no replica ${replica}, the last of ${n} is ${n - 1}`);
    if (spanValue(to) <= spanValue(from))
      throw new UserError(`${where}: replica ${replica} cannot be away from ${from} to ${to}; to must be above from`);
    const other = churn.away.findIndex(
      (each, k) =>
        k < i &&
        each.replica === replica &&
        spanValue(each.from) < spanValue(to) &&
        spanValue(from) < spanValue(each.to),
    );
    if (other >= 0)
      throw new UserError(
        `${where}: replica ${replica} is away from ${from} to ${to}, but away[${other}] says from ${churn.away[other]!.from} to ${churn.away[other]!.to}; intervals of a replica must not overlap`,
      );
    ends.push({ at: spanValue(from), change: 1, text: from }, { at: spanValue(to), change: -1, text: to });
  }
  let gone = 0;
  for (const { at, change, text } of ends.toSorted((a, b) => a.at - b.at || a.change - b.change)) {
    gone += change;
    if (gone === n)
      throw new UserError(
        `faults.churn: all ${n} replicas are away from ${typeof text === 'number' ? `step ${at}` : text} on`,
        {
          hint: 'leave at least one there at any time',
        },
      );
  }
}
