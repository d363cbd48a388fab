import { number } from '../../base/format.ts';
import { percent, seconds, short } from '../../report/figure/axis.ts';
import type { NetworkRound, ReplicaFrame } from '../../report/report.ts';

type Column = readonly (number | null)[];

/** How many samples of each class every replica has; null if that is not known. */
export interface DealtShares {
  readonly counts: readonly (readonly number[])[] | null;
  readonly totals: readonly number[] | null;
}

/** A number of one replica beside the same of all. */
export interface Placing {
  readonly name: string;
  readonly own: string;
  readonly mean: string;
  readonly place: string;
  /** Whether it is among the worst. */
  readonly bad: boolean;
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const meanOf = (values: readonly number[]) => sum(values) / values.length;
const inWhole = (share: number) => `${Math.round(100 * share)} %`;

interface Place {
  readonly own: number;
  readonly mean: number;
  /** How many are worse off, and how many there are. */
  readonly behind: number;
  readonly ahead: number;
  readonly of: number;
}

function placeOf(values: Column | null, replica: number, worse: 'low' | 'high'): Place | undefined {
  const own = values?.[replica];
  if (values === null || own === null || own === undefined) return undefined;
  const there = values.filter((value) => value !== null);
  const behind = there.filter((value) => (worse === 'low' ? value < own : value > own)).length;
  const ahead = there.length - behind - there.filter((value) => value === own).length;
  return { own, mean: meanOf(there), behind, ahead, of: there.length };
}

function placeText({ behind, of, ahead }: Place): string {
  if (behind === 0 && ahead === 0) return of > 1 ? 'all alike' : '';
  if (behind === 0) return 'last';
  return behind + 1 === of ? 'first' : `${number(of - behind)} of ${number(of)}`;
}

/** Whom a replica hears in a round, as far as edges are drawn. */
export function neighboursOf({ edges, directed }: NetworkRound, replica: number): number[] {
  const found = new Set<number>();
  for (let e = 0; e < edges.length; e += 2) {
    const [source, hears] = [edges[e]!, edges[e + 1]!];
    if (hears === replica) found.add(source);
    if (!directed && source === replica) found.add(hears);
  }
  return [...found].sort((a, b) => a - b);
}

/** Whether there are more connections than are drawn: then those it is known to hear are some of them. */
const isSampled = ({ edges, all }: NetworkRound) => edges.length / 2 < all;

/** All samples, class by class. */
export const allOf = (counts: readonly (readonly number[])[]): number[] =>
  counts[0]!.map((_, c) => sum(counts.map((row) => row[c]!)));

/** What the data of a replica are like: how many of its samples would have to be of other classes to be like all. */
function dealt(counts: readonly (readonly number[])[], replica: number) {
  const own = counts[replica]!;
  const all = allOf(counts);
  const [total, whole] = [sum(own), sum(all)];
  const unlike = sum(own.map((count, c) => Math.abs(count / total - all[c]! / whole))) / 2;
  const most = own.map((count, c) => ({ c, share: count / total })).sort((a, b) => b.share - a.share);
  const named = most.filter(({ share }) => share > 0.05).slice(0, 3);
  const none = own.filter((count) => count === 0).length;
  return {
    total,
    mean: whole / counts.length,
    unlike,
    words: `mostly ${named.map(({ c, share }) => `class ${c} (${inWhole(share)})`).join(', ')}${none > 0 ? `, none of ${none} of ${own.length} classes` : ''}`,
  };
}

const deviation = (values: readonly number[]) => {
  const mean = meanOf(values);
  return Math.sqrt(meanOf(values.map((value) => (value - mean) ** 2)));
};

/** Whether its value is worse than the mean of all. */
function isBehind(values: Column | null, replica: number, worse: 'low' | 'high'): boolean {
  const own = values?.[replica] ?? null;
  if (values === null || own === null) return true;
  let [total, count] = [0, 0];
  for (const value of values) {
    if (value === null) continue;
    total += value;
    count += 1;
  }
  const mean = total / count;
  // By more than the sum was rounded by.
  return (worse === 'low' ? mean - own : own - mean) > 1e-9 * Math.abs(mean);
}

/** Batches that are enough to tell a replica's loss from chance. */
const mostLosses = 30;

/** The loss on its own batches ÷ that of all on theirs, over several steps: one batch says little. */
function lossBeside(frames: readonly ReplicaFrame[], replica: number): number {
  const own = frames.flatMap(({ loss }) => loss[replica] ?? []);
  const all = frames.flatMap(({ loss }) => loss.filter((value) => value !== null));
  return own.length < mostLosses / 3 ? 1 : meanOf(own) / meanOf(all);
}

/** From here on data count as unlike those of all. */
const muchUnlike = 0.35;

/** What is known of one replica: how it stands beside the others, and what may be behind it. */
export function reasons(
  frames: readonly ReplicaFrame[],
  frame: ReplicaFrame,
  round: NetworkRound,
  replica: number,
  { counts, totals }: DealtShares,
) {
  const neighbours = neighboursOf(round, replica);
  const sampled = isSampled(round);
  const accuracy = placeOf(frame.testAccuracy, replica, 'low');
  const testLoss = placeOf(frame.testLoss, replica, 'high');
  const loss = placeOf(frame.loss, replica, 'high');
  const distance = placeOf(frame.distance, replica, 'high');
  const ownSteps = placeOf(frame.ownSteps, replica, 'low');
  const scores = (at: ReplicaFrame) =>
    accuracy !== undefined ? at.testAccuracy : testLoss !== undefined ? at.testLoss : at.loss;
  const near = neighbours.flatMap((i) => scores(frame)?.[i] ?? []);
  const data = counts?.[replica] === undefined ? undefined : dealt(counts, replica);
  const score = accuracy ?? testLoss ?? loss;
  const behind = score !== undefined && score.behind < score.of / 2 && score.own !== score.mean;

  const table: Placing[] = [];
  const add = (name: string, at: Place | undefined, text: (value: number) => string) => {
    if (at === undefined) return;
    table.push({
      name,
      own: text(at.own),
      mean: text(at.mean),
      place: placeText(at),
      bad: at.of > 3 && at.ahead > 0 && at.behind < at.of / 8,
    });
  };
  add('test accuracy', accuracy, percent);
  if (accuracy === undefined) add('test loss', testLoss, short);
  add('loss on its own batch', loss, short);
  add('distance to the mean', distance, short);
  add('steps of its own', ownSteps, short);
  add('virtual time', placeOf(frame.finished, replica, 'high'), seconds);
  if (near.length > 0)
    table.push({
      name: sampled ? 'some of those it hears' : 'those it hears',
      own: (accuracy === undefined ? short : percent)(meanOf(near)),
      mean: (accuracy === undefined ? short : percent)(score!.mean),
      place: '',
      bad: false,
    });
  const amount = data?.total ?? totals?.[replica];
  if (amount !== undefined)
    table.push({
      name: data === undefined ? 'tokens' : 'samples',
      own: number(amount),
      mean: number(data?.mean ?? meanOf(totals!), 4),
      place: '',
      bad: false,
    });

  const why: string[] = [];
  /** Those after all who have data. */
  const serves = totals !== null && replica >= totals.length;
  if (serves) why.push('It is a server: it has no data of its own and knows what those tell it that it hears.');
  if (score === undefined || (frame.loss[replica] === null && !serves))
    why.push('It is not there in this step, or was not measured.');
  else if (behind) {
    if (data !== undefined && data.unlike > muchUnlike)
      why.push(
        `Its data are unlike those of all: ${data.words}. ${inWhole(data.unlike)} of them would have to change. What it lacks it can learn from its neighbours alone.`,
      );
    if (data !== undefined && data.total < data.mean / 2)
      why.push(`It has few data: ${number(data.total)} samples, others ${number(data.mean, 3)} on average.`);
    const all = (scores(frame) ?? []).filter((value) => value !== null);
    const off = near.length === 0 ? 0 : (accuracy === undefined ? 1 : -1) * (meanOf(near) - score.mean);
    // By less than what is usual among the replicas they differ by chance.
    if (off > 0.5 * deviation(all) && !sampled)
      why.push(
        `${neighbours.length === 1 ? 'The one it hears is' : 'Those it hears are'} behind as well: what better ones know comes to it over several steps.`,
      );
    if (ownSteps !== undefined && ownSteps.own < 0.8 * ownSteps.mean)
      why.push(
        `It is slow: it made ${number(ownSteps.own)} steps of its own, others ${number(ownSteps.mean, 3)} on average.`,
      );
    if (neighbours.length === 0 && !sampled) why.push('It hears nobody in this round.');
    if (distance !== undefined && distance.mean > 0 && distance.own > 1.5 * distance.mean)
      why.push(
        `It is ${short(distance.own / distance.mean)} times as far from the mean as others: averaging does not bring it back.`,
      );
    const until = frames.filter(({ step }) => step <= frame.step);
    if (accuracy !== undefined && lossBeside(until.slice(-mostLosses), replica) < 0.7)
      why.push('It does well on its own batches, which are not like the test data.');
    if (why.length === (serves ? 1 : 0))
      why.push(
        data === undefined
          ? `Nothing stands out ${sampled ? '' : 'among those it hears and '}in its distance to the mean.`
          : `Nothing stands out: its data${sampled ? '' : ', those it hears'} and its distance are like those of others.`,
      );
    const was = until.findLastIndex(
      (each) => !isBehind(scores(each), replica, accuracy === undefined ? 'high' : 'low'),
    );
    const since = until[was + 1];
    if (until.length > 1 && since !== undefined)
      why.push(
        was < 0
          ? 'It has been behind the mean from the beginning.'
          : `It has been behind the mean since step ${number(since.step + 1)}; before, it was not.`,
      );
  } else
    why.push(
      `It is not behind: by its ${accuracy !== undefined ? 'test accuracy' : testLoss !== undefined ? 'test loss' : 'loss'} at least half of the others are no better.`,
    );
  return { table, why, neighbours, sampled, behind, own: counts?.[replica] };
}
