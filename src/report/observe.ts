import { earlyShare } from '../metric/rank.ts';
import { differenceOf } from './difference.ts';
import { beats, counts, type Facts, implementationsMissing, margin, ofKind, seedsMissing } from './evidence.ts';
import type { Comparison, Estimate, Group, Observation } from './report.ts';
import { list, percent, points, range, rho, times } from './words.ts';

type Claim = Pick<Observation, 'kind' | 'claim' | 'criterion'>;

/** One claim at one scale. */
interface Judgement {
  readonly where: string;
  readonly holds: boolean | null;
  /** What is missing for a verdict; null if there is one. */
  readonly needs: string | null;
  readonly finding: string;
}

/** A correlation stronger than this counts. */
const strong = 0.8;

const claims: Readonly<Record<Observation['kind'], Claim>> = {
  scale: {
    kind: 'scale',
    claim: 'Accuracy falls as the number of replicas grows, centralized and decentralized alike.',
    criterion:
      'for every implementation ρ(n, accuracy) < 0, and accuracy at the largest n is below that at the smallest by more than 0.5 points and the interval.',
  },
  connections: {
    kind: 'connections',
    claim: 'Accuracy rises with the number of connections.',
    criterion:
      'ρ(connections, accuracy) > 0.8 over four or more implementations, and none of complete, exponential, torus, ring beats one before it by more than 0.5 points and the interval.',
  },
  variance: {
    kind: 'variance',
    claim: 'Accuracy falls with the variance of parameters across replicas.',
    criterion: 'ρ(variance rank, accuracy) < −0.8 over four or more implementations.',
  },
  peak: {
    kind: 'peak',
    claim: 'The variance of parameters across replicas peaks early and fades.',
    criterion:
      'for every implementation the Gini coefficient, mean over the tensors, is largest in the first fifth of the steps and in the last fifth below half of that.',
  },
  ada: {
    kind: 'ada',
    claim: 'Ada is as accurate as the complete topology and sends fewer bytes.',
    criterion:
      'the 95 % interval of the difference Ada − complete, seed by seed, lies above −0.5 points, and Ada sends fewer bytes.',
  },
};

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
    const [first, last] = [complete[0]!, complete.at(-1)!];
    const falls = (correlation.rho ?? -1) < 0 && beats(facts, first, last);
    const course = [first, last].map((group) => `${percent(group.accuracy!)} at n = ${group.replicas}`).join(', ');
    const finding = `${name}: ${course}${correlation.rho === null ? '' : `, ρ = ${rho(correlation)}`}.`;
    return [{ name, falls, finding, needs: seedsMissing(facts, [first, last]) }];
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
  const of = (wanted: boolean) => list(courses.filter(({ falls }) => falls === wanted).map(({ name }) => name));
  const needs = courses.find((course) => course.needs !== null)?.needs ?? null;
  return {
    ...claims.scale,
    holds: needs === null ? of(false) === '' : null,
    needs,
    finding: [
      ...(of(true) === '' ? [] : [`Accuracy falls for ${of(true)}.`]),
      ...(of(false) === '' ? [] : [`It does not fall, or not clearly, for ${of(false)}.`]),
    ].join(' '),
    details,
  };
}

/** From many connections to few, as the paper orders them. */
const order = ['complete', 'exponential', 'torus', 'ring'];

function connections(facts: Facts, comparison: Comparison): Judgement {
  const { label: where, connectionsAccuracy: correlation } = comparison;
  const members = comparison.points.map((index) => facts.groups[index]!);
  const chain = order.flatMap((kind) => ofKind(facts, comparison, kind).slice(0, 1));
  const wrong = chain.flatMap((many, i) =>
    chain.slice(i + 1).flatMap((few) => (beats(facts, few, many) ? [`${few.name} beats ${many.name}`] : [])),
  );
  const needs =
    implementationsMissing(members) ??
    seedsMissing(facts, members) ??
    (correlation.rho === null ? 'implementations that differ in connections and in accuracy' : null);
  const parts = [
    ...(correlation.rho === null ? [] : [`ρ(connections, accuracy) = ${rho(correlation)}${over(members)}`]),
    ...(chain.length > 0 ? [chain.map(({ name, accuracy }) => `${name} ${percent(accuracy!)}`).join(', ')] : []),
    ...(wrong.length > 0 ? [list(wrong)] : []),
  ];
  return {
    where,
    needs,
    holds: needs === null ? correlation.rho! > strong && wrong.length === 0 : null,
    ...told(parts),
  };
}

function variance(facts: Facts, comparison: Comparison): Judgement {
  const { label: where, varianceAccuracy: correlation } = comparison;
  const members = comparison.ranked.map((index) => facts.groups[index]!);
  const needs =
    implementationsMissing(members) ??
    seedsMissing(facts, members) ??
    (correlation.rho === null ? 'implementations that differ in variance and in accuracy' : null);
  const parts =
    correlation.rho === null
      ? []
      : [
          `ρ(variance rank, accuracy) = ${rho(correlation)}${over(members)}`,
          `${rho(correlation.early)} with the ranks of the first fifth of the steps, ${rho(correlation.late)} with the others`,
        ];
  return { where, needs, holds: needs === null ? correlation.rho! < -strong : null, ...told(parts) };
}

function peak(facts: Facts, comparison: Comparison): Judgement {
  const { label: where } = comparison;
  const members = comparison.points.map((index) => facts.groups[index]!);
  const courses = members.flatMap(({ name, peakGini, peakGiniAt, lateGini }) =>
    peakGini === null || peakGiniAt === null || lateGini === null
      ? []
      : [{ name, at: peakGiniAt.mean, left: lateGini.mean / peakGini.mean }],
  );
  if (courses.length === 0)
    return { where, holds: null, needs: 'complete decentralized runs whose norms were measured', finding: '' };
  const namesOf = (wrong: typeof courses) => list(wrong.map(({ name }) => name));
  const notEarly = namesOf(courses.filter(({ at }) => at >= earlyShare));
  const notFading = namesOf(courses.filter(({ left }) => left >= 0.5));
  const needs = seedsMissing(facts, members);
  return {
    where,
    needs,
    holds: needs === null ? notEarly === '' && notFading === '' : null,
    ...told([
      `The Gini coefficient is largest after ${range(courses.map(({ at }) => at))} of the steps${notEarly === '' ? '' : `, not early for ${notEarly}`}`,
      `${range(courses.map(({ left }) => left))} of that is left in the last fifth${notFading === '' ? '' : `, too much for ${notFading}`}`,
    ]),
  };
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
function notWorse({ mean, half }: Estimate): boolean | null {
  if (half === null) return null;
  return mean - half > -margin ? true : mean + half < -margin ? false : null;
}

const told = (parts: readonly string[]) => ({ finding: parts.length === 0 ? '' : `${parts.join('; ')}.` });

const over = (members: readonly Group[]) => ` over ${members.length} implementations`;

/** `n = 8, 16 and 32`, or the labels in full. */
const scales = (judgements: readonly Judgement[]) => {
  const labels = judgements.map(({ where }) => where);
  const plain = labels.every((label) => /^n = \d+$/.test(label));
  return list(plain ? labels.map((label, i) => (i === 0 ? label : label.slice('n = '.length))) : labels);
};
