import { estimate } from '../metric/estimate.ts';
import { earlyShare } from '../metric/rank.ts';
import { type Claim, claims } from './claims.ts';
import { differenceOf } from './difference.ts';
import { counts, type Facts, implementationsMissing, margin, ofKind, seedsMissing, trendAlong } from './evidence.ts';
import type { Comparison, Estimate, Group, Observation } from './report.ts';
import { list, percent, points, range, rho, times } from './words.ts';

/** One claim at one scale. */
interface Judgement {
  readonly where: string;
  readonly holds: boolean | null;
  /** What is missing for a verdict; null if there is one. */
  readonly needs: string | null;
  readonly finding: string;
}

/** The claims of DBench's paper held against these runs: no verdict without several seeds, nothing about Ada if it is not there. */
export function observe(facts: Facts): Observation[] {
  const each = (judge: (facts: Facts, comparison: Comparison) => Judgement) =>
    facts.comparisons.map((comparison) => judge(facts, comparison));
  const withAda = facts.comparisons.some((comparison) => ofKind(facts, comparison, 'ada').length > 0);
  return [
    scale(facts),
    summed(claims.connections, each(connections)),
    summed(claims.variance, each(variance)),
    summed(claims.peak, each(peak)),
    ...(withAda ? [summed(claims.ada, each(ada))] : []),
  ];
}

/** Holds if it does at every scale that can tell. */
function summed(claim: Claim, judgements: readonly Judgement[]): Observation {
  const told = judgements.filter(({ holds }) => holds !== null);
  const last = (told.at(-1) ?? judgements.at(-1))!;
  const holds = told.length === 0 ? null : told.every((each) => each.holds);
  const needs = holds === null ? last.needs : null;
  if (told.length === 0 || judgements.length === 1)
    return { ...claim, holds, needs, finding: last.finding, details: [] };
  const where = (wanted: boolean) => scales(told.filter((each) => each.holds === wanted));
  const lead = [
    ...(where(true) === '' ? [] : [`Holds at ${where(true)}.`]),
    ...(where(false) === '' ? [] : [`Does not hold at ${where(false)}.`]),
  ];
  return {
    ...claim,
    holds,
    needs,
    finding: `${lead.join(' ')} At ${last.where}: ${last.finding}`,
    details: judgements.map((each) => `${each.where}: ${each.finding}`),
  };
}

function scale(facts: Facts): Observation {
  const courses = facts.scaling.flatMap(({ name, groups, correlation }) => {
    const complete = groups.map((index) => facts.groups[index]!).filter(counts);
    if (complete.length < 2) return [];
    const { trend, holds, needs } = trendAlong(
      facts,
      complete,
      complete.map(({ replicas }) => replicas),
      -1,
    );
    const ends = [complete[0]!, complete.at(-1)!];
    const course = ends.map((group) => `${percent(group.accuracy!)} at n = ${group.replicas}`).join(', ');
    const change = trend === null ? '' : `, change ${points(trend.change)}`;
    const finding = `${name}: ${course}${change}${correlation.rho === null ? '' : `, ρ = ${rho(correlation)}`}.`;
    return [{ name, falls: holds, finding, needs }];
  });
  const details = courses.map(({ finding }) => finding);
  if (courses.length === 0)
    return {
      ...claims.scale,
      holds: null,
      needs: 'runs of the same implementation at two or more numbers of replicas',
      finding: '',
      details,
    };
  const of = (wanted: boolean | null) => list(courses.filter(({ falls }) => falls === wanted).map(({ name }) => name));
  const open = courses.find((course) => course.needs !== null)?.needs ?? null;
  const holds = of(false) !== '' ? false : open === null ? true : null;
  return {
    ...claims.scale,
    holds,
    needs: holds === null ? open : null,
    finding: [
      ...(of(true) === '' ? [] : [`Accuracy falls for ${of(true)}.`]),
      ...(of(false) === '' ? [] : [`It does not fall for ${of(false)}.`]),
      ...(of(null) === '' ? [] : [`It cannot be told for ${of(null)}.`]),
    ].join(' '),
    details,
  };
}

/** From many connections to few, as the paper orders them. */
const order = ['complete', 'exponential', 'torus', 'ring'];

function connections(facts: Facts, comparison: Comparison): Judgement {
  const { label: where, connectionsAccuracy: correlation } = comparison;
  const members = comparison.points
    .map((index) => facts.groups[index]!)
    .filter(({ connections }) => connections !== null);
  const chain = order.flatMap((kind) => ofKind(facts, comparison, kind).slice(0, 1));
  return {
    where,
    ...along(
      facts,
      comparison,
      members,
      members.map(({ connections }) => connections!.mean),
      1,
      'connections',
      [
        ...(correlation.rho === null ? [] : [`ρ(connections, accuracy) = ${rho(correlation)}${over(members)}`]),
        ...(chain.length > 0 ? [chain.map(({ name, accuracy }) => `${name} ${percent(accuracy!)}`).join(', ')] : []),
      ],
    ),
  };
}

function variance(facts: Facts, comparison: Comparison): Judgement {
  const { label: where, varianceAccuracy: correlation, ranked, rank } = comparison;
  const known = ranked.flatMap((index, place) =>
    rank.all[place] == null ? [] : [[facts.groups[index]!, rank.all[place]] as const],
  );
  const members = known.map(([group]) => group);
  return {
    where,
    ...along(
      facts,
      comparison,
      members,
      known.map(([, value]) => value),
      -1,
      'variance',
      correlation.rho === null
        ? []
        : [
            `ρ(variance rank, accuracy) = ${rho(correlation)}${over(members)}`,
            `${rho(correlation.early)} with the ranks of the first fifth of the steps, ${rho(correlation.late)} with the others`,
          ],
    ),
  };
}

/** Whether accuracy goes along x as claimed, over enough implementations; with the change and what goes the other way. */
function along(
  facts: Facts,
  comparison: Comparison,
  members: readonly Group[],
  x: readonly number[],
  sign: 1 | -1,
  what: string,
  parts: readonly string[],
): Omit<Judgement, 'where'> {
  const { trend, holds, needs } = trendAlong(facts, members, x, sign);
  const missing =
    implementationsMissing(comparison.points) ??
    (trend === null ? `implementations that differ in ${what}, with common seeds` : null) ??
    needs;
  const wrong = (trend?.against ?? []).map(([less, more]) => {
    const [better, worse] = (trend!.change.mean > 0 ? [less, more] : [more, less]).map((i) => members[i!]!.name);
    return `${better} beats ${worse}`;
  });
  return {
    needs: missing,
    holds: missing === null ? holds : null,
    ...told([
      ...parts,
      ...(trend === null ? [] : [`accuracy changes by ${points(trend.change)} from least to most ${what}`]),
      ...(wrong.length > 0 ? [`the other way: ${list(wrong)}`] : []),
    ]),
  };
}

function peak(facts: Facts, comparison: Comparison): Judgement {
  const { label: where } = comparison;
  const members = comparison.points.map((index) => facts.groups[index]!);
  const courses = members.flatMap(({ name, runs }) => {
    const known = runs
      .map((index) => facts.runs[index]!)
      .filter(({ summary }) => summary.status === 'complete')
      .filter(({ peakGini, peakGiniAt, lateGini }) => peakGini !== null && peakGiniAt !== null && lateGini !== null);
    const at = estimate(known.map(({ peakGiniAt }) => peakGiniAt));
    const left = estimate(known.map(({ peakGini, lateGini }) => lateGini! / peakGini!));
    return at === null || left === null ? [] : [{ name, at, left }];
  });
  if (courses.length === 0)
    return { where, holds: null, needs: 'complete decentralized runs whose norms were measured', finding: '' };
  const namesOf = (some: typeof courses) => list(some.map(({ name }) => name));
  const notEarly = namesOf(courses.filter(({ at }) => below(at, earlyShare) === false));
  const notFading = namesOf(courses.filter(({ left }) => below(left, 0.5) === false));
  const open = namesOf(courses.filter(({ at, left }) => below(at, earlyShare) === null || below(left, 0.5) === null));
  const fails = notEarly !== '' || notFading !== '';
  const needs = seedsMissing(facts, members) ?? (fails || open === '' ? null : `more seeds of ${open}`);
  return {
    where,
    needs,
    holds: needs === null ? !fails : null,
    ...told([
      `The Gini coefficient is largest after ${range(courses.map(({ at }) => at.mean))} of the steps${notEarly === '' ? '' : `, not early for ${notEarly}`}`,
      `${range(courses.map(({ left }) => left.mean))} of that is left in the last fifth${notFading === '' ? '' : `, too much for ${notFading}`}`,
    ]),
  };
}

/** Whether an interval lies below a bound; null if it reaches to both sides. */
function below({ mean, half }: Estimate, bound: number): boolean | null {
  if (half === null) return null;
  return mean + half < bound ? true : mean - half >= bound ? false : null;
}

function ada(facts: Facts, comparison: Comparison): Judgement {
  const { label: where } = comparison;
  const [complete] = ofKind(facts, comparison, 'complete');
  const [central] = ofKind(facts, comparison, 'centralized');
  const adas = ofKind(facts, comparison, 'ada');
  if (complete === undefined || adas.length === 0)
    return { where, holds: null, needs: 'complete runs of Ada and of the complete topology at one scale', finding: '' };
  if (adas.every(({ connections }) => connections!.mean === complete.connections!.mean))
    return {
      where,
      holds: null,
      needs: 'an Ada that gives up connections',
      finding: 'Ada keeps all connections here: it is the complete topology.',
    };
  const ratio = (a: Group, b: Group) => a.sentBytes!.mean / b.sentBytes!.mean;
  const pairs = adas.map((group) => ({ group, difference: differenceOf(facts, group, complete) }));
  const parts = pairs.map(({ group, difference }) => {
    const bytes = [`${times(ratio(group, complete))} bytes`];
    if (central !== undefined) bytes.push(`${times(ratio(group, central))} than the all-reduce of ${central.name}`);
    const accuracies = [group, complete].map(({ name, accuracy }) => `${name} ${percent(accuracy!)}`).join(', ');
    const apart = difference === null ? 'no common seed' : `difference ${points(difference)}`;
    return `${accuracies} (${apart}), with ${bytes.join(', but ')}`;
  });
  const verdicts = pairs.map(({ group, difference }) =>
    ratio(group, complete) >= 1 ? false : difference === null ? null : notWorse(difference),
  );
  const undecided = verdicts.includes(null) && !verdicts.includes(false);
  const needs =
    seedsMissing(facts, [...adas, complete]) ??
    (undecided ? 'more seeds: the interval of the difference reaches to both sides of −0.5 points' : null);
  return { where, needs, holds: needs === null ? !verdicts.includes(false) : null, ...told(parts) };
}

/** Whether an interval is above what counts as worse, below it, or neither. */
function notWorse(difference: Estimate): boolean | null {
  const worse = below(difference, -margin);
  return worse === null ? null : !worse;
}

const told = (parts: readonly string[]) => ({ finding: parts.length === 0 ? '' : `${parts.join('; ')}.` });

const over = (members: readonly Group[]) => ` over ${members.length} implementations`;

/** `n = 8, 16 and 32`, or the labels in full. */
const scales = (judgements: readonly Judgement[]) => {
  const labels = judgements.map(({ where }) => where);
  const plain = labels.every((label) => /^n = \d+$/.test(label));
  return list(plain ? labels.map((label, i) => (i === 0 ? label : label.slice('n = '.length))) : labels);
};
