import { number } from '../../base/format.ts';
import { percent, short } from '../../report/figure/axis.ts';
import type { NetworkRound, ReplicaFrame } from '../../report/report.ts';

type Column = readonly (number | null)[];

/** How many samples of each class every replica has; null if that is not known. */
export interface DealtShares {
  readonly counts: readonly (readonly number[])[] | null;
  readonly totals: readonly number[] | null;
}

const meanOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Its own value among those of all: the mean of all, and how many are worse off. */
function standing(values: Column | null, replica: number, worse: 'low' | 'high') {
  const own = values?.[replica];
  if (values === null || own === null || own === undefined) return undefined;
  const there = values.filter((value) => value !== null);
  const below = there.filter((value) => (worse === 'low' ? value < own : value > own)).length;
  return { own, mean: meanOf(there), behind: below, of: there.length };
}

const place = ({ behind, of }: { readonly behind: number; readonly of: number }) =>
  behind === 0
    ? 'the furthest behind'
    : behind + 1 === of
      ? 'the best'
      : `${number(behind)} of ${number(of - 1)} others are further behind`;

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

function classes(counts: readonly (readonly number[])[], replica: number): string[] {
  const own = counts[replica];
  if (own === undefined) return [];
  const total = own.reduce((sum, count) => sum + count, 0);
  const all = counts.reduce(
    (sum, row) => sum.map((count, c) => count + row[c]!),
    new Array<number>(own.length).fill(0),
  );
  const whole = all.reduce((sum, count) => sum + count, 0);
  const skew = own.reduce((sum, count, c) => sum + Math.abs(count / total - all[c]! / whole), 0) / 2;
  const most = own.map((count, c) => ({ c, share: count / total })).sort((a, b) => b.share - a.share);
  const named = most
    .slice(0, 3)
    .filter(({ share }) => share > 0)
    .map(({ c, share }) => `class ${c} ${Math.round(100 * share)} %`);
  const none = own.filter((count) => count === 0).length;
  return [
    `Its data: ${number(total)} samples, mostly ${named.join(', ')}${none > 0 ? `; none of ${none} of ${own.length} classes` : ''}.`,
    skew > 0.35
      ? `They are unlike those of all (${Math.round(100 * skew)} % would have to change): it learns its own classes, and what it lacks it can learn only from its neighbours.`
      : `They are much like those of all: they are not why it differs.`,
  ];
}

/** What is known of one replica, in sentences: how it does, how far it is, whom it hears, what it learns from. */
export function reasons(
  frame: ReplicaFrame,
  round: NetworkRound,
  replica: number,
  picked: boolean,
  { counts, totals }: DealtShares,
) {
  const neighbours = neighboursOf(round, replica);
  const accuracy = standing(frame.testAccuracy, replica, 'low');
  const loss = standing(frame.loss, replica, 'high');
  const distance = standing(frame.distance, replica, 'high');
  const lines: string[] = [];
  if (accuracy !== undefined)
    lines.push(`Test accuracy ${percent(accuracy.own)}, mean of all ${percent(accuracy.mean)}: ${place(accuracy)}.`);
  if (loss !== undefined)
    lines.push(
      `Training loss on its own batch ${short(loss.own)}, mean of all ${short(loss.mean)}: ${loss.own < loss.mean && accuracy !== undefined && accuracy.own < accuracy.mean ? 'it does well on its own data, though not on the test data.' : `${place(loss)}.`}`,
    );
  if (distance !== undefined && distance.mean > 0)
    lines.push(
      `Distance to the mean ${short(distance.own)}, ${short(distance.own / distance.mean)} times that of all: ${place(distance)}.`,
    );
  else if (distance !== undefined) lines.push('All replicas are equal.');
  const near = neighbours.flatMap((i) => frame.testAccuracy?.[i] ?? []);
  if (near.length > 0 && accuracy !== undefined)
    lines.push(
      `Those it hears have ${percent(meanOf(near))} on average${meanOf(near) < accuracy.mean ? ': they are behind as well' : ''}.`,
    );
  if (counts !== null) lines.push(...classes(counts, replica));
  else if (totals?.[replica] !== undefined) lines.push(`It learns from ${number(totals[replica]!)} tokens.`);
  if (frame.loss[replica] === null) lines.push('It is lost, or was not measured.');
  return { title: picked ? `Replica ${replica}` : `Furthest behind: replica ${replica}`, lines, neighbours };
}
