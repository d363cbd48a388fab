import type { Correlation } from '../metric/correlation.ts';
import { type Estimate, estimate } from '../metric/estimate.ts';
import { earlyShare } from '../metric/rank.ts';
import type { Comparison, Group, Observation, Report } from './report.ts';

type Facts = Pick<Report, 'runs' | 'groups' | 'comparisons' | 'scaling'>;
type Claim = Pick<Observation, 'kind' | 'claim' | 'criterion'>;

/** One claim at one scale. */
interface Judgement {
  readonly where: string;
  readonly holds: boolean | null;
  readonly finding: string;
}

/** A correlation stronger than this counts. */
const strong = 0.8;
/** Accuracies closer than this count as equal, and those whose difference is within its interval over seeds. */
const margin = 0.005;

const claims: Readonly<Record<Observation['kind'], Claim>> = {
  scale: {
    kind: 'scale',
    claim: 'Accuracy falls as the number of replicas grows, centralized and decentralized alike.',
    criterion: 'ρ(n, accuracy) < 0 for every implementation, which at the largest n is worse than at the smallest.',
  },
  connections: {
    kind: 'connections',
    claim: 'Accuracy rises with the number of connections.',
    criterion:
      'ρ(connections, accuracy) > 0.8, and none of complete, exponential, torus, ring beats one before it by more than half a point and the interval.',
  },
  variance: {
    kind: 'variance',
    claim: 'Accuracy falls with the variance of parameters across replicas, which peaks early and fades.',
    criterion:
      'ρ(variance rank, accuracy) < −0.8; Gini peaks in the first fifth of the steps and is below half of that in the last.',
  },
  ada: {
    kind: 'ada',
    claim: 'Ada is as accurate as the complete topology and sends fewer bytes.',
    criterion: 'The complete topology is not better by more than half a point and the interval, and sends more bytes.',
  },
};

/** The claims of DBench's paper held against these runs. Better and worse: by half a point, and by the interval over seeds. */
export function observe(facts: Facts): Observation[] {
  const each = (judge: (facts: Facts, comparison: Comparison) => Judgement) =>
    facts.comparisons.map((comparison) => judge(facts, comparison));
  return [
    scale(facts),
    summed(claims.connections, each(connections)),
    summed(claims.variance, each(variance)),
    summed(claims.ada, each(ada)),
  ];
}

/** Holds where it does at every scale that can tell. */
function summed(claim: Claim, judgements: readonly Judgement[]): Observation {
  const told = judgements.filter(({ holds }) => holds !== null);
  const last = (told.at(-1) ?? judgements.at(-1))!;
  const holds = told.length === 0 ? null : told.every((each) => each.holds);
  if (told.length === 0 || judgements.length === 1) return { ...claim, holds, finding: last.finding, details: [] };
  const where = (wanted: boolean) => scales(told.filter((each) => each.holds === wanted));
  const lead = [
    ...(where(true) === '' ? [] : [`Holds at ${where(true)}.`]),
    ...(where(false) === '' ? [] : [`Does not hold at ${where(false)}.`]),
  ];
  return {
    ...claim,
    holds,
    finding: `${lead.join(' ')} At ${last.where}: ${last.finding}`,
    details: judgements.map((each) => `${each.where}: ${each.finding}`),
  };
}

function scale(facts: Facts): Observation {
  const told = facts.scaling.flatMap(({ name, groups, correlation }) => {
    const complete = groups.map((index) => facts.groups[index]!).filter(counts);
    if (complete.length < 2) return [];
    const [first, last] = [complete[0]!, complete.at(-1)!];
    const falls = (correlation.rho ?? -1) < 0 && beats(facts, first, last);
    const course = [first, last].map((group) => `${percent(group.accuracy!)} at n = ${group.replicas}`).join(', ');
    return [
      { name, falls, finding: `${name}: ${course}${correlation.rho === null ? '' : `, ρ = ${rho(correlation)}`}.` },
    ];
  });
  const of = (wanted: boolean) => list(told.filter(({ falls }) => falls === wanted).map(({ name }) => name));
  if (told.length === 0)
    return { ...claims.scale, holds: null, finding: 'Only runs at several numbers of replicas can tell.', details: [] };
  return {
    ...claims.scale,
    holds: of(false) === '',
    finding: [
      ...(of(true) === '' ? [] : [`Accuracy falls for ${of(true)}.`]),
      ...(of(false) === '' ? [] : [`It does not fall, or not clearly, for ${of(false)}.`]),
    ].join(' '),
    details: told.map(({ finding }) => finding),
  };
}

/** From many connections to few, as the paper orders them. */
const order = ['complete', 'exponential', 'torus', 'ring'];

function connections(facts: Facts, comparison: Comparison): Judgement {
  const { label: where, connectionsAccuracy: found } = comparison;
  if (found.rho === null) return { where, holds: null, finding: tooFew };
  const chain = order.flatMap((kind) => ofKind(facts, comparison, kind).slice(0, 1));
  const wrong = chain.flatMap((many, i) =>
    chain.slice(i + 1).flatMap((few) => (beats(facts, few, many) ? [`${few.name} beats ${many.name}`] : [])),
  );
  const finding = [
    `ρ(connections, accuracy) = ${rho(found)} over ${found.points} implementations`,
    ...(chain.length > 0 ? [chain.map(({ name, accuracy }) => `${name} ${percent(accuracy!)}`).join(', ')] : []),
    ...(wrong.length > 0 ? [list(wrong)] : []),
  ];
  return { where, holds: found.rho > strong && wrong.length === 0, finding: `${finding.join('; ')}.` };
}

function variance(facts: Facts, comparison: Comparison): Judgement {
  const { label: where, varianceAccuracy: found, ranked } = comparison;
  if (found.rho === null) return { where, holds: null, finding: tooFew };
  const courses = ranked.flatMap((index) => {
    const { name, peakGini, peakGiniAt, lateGini } = facts.groups[index]!;
    if (peakGini === null || peakGiniAt === null || lateGini === null) return [];
    return [{ name, at: peakGiniAt.mean, left: lateGini.mean / peakGini.mean }];
  });
  const namesOf = (wrong: typeof courses) => list(wrong.map(({ name }) => name));
  const notEarly = namesOf(courses.filter(({ at }) => at >= earlyShare));
  const notFading = namesOf(courses.filter(({ left }) => left >= 0.5));
  const [places, rests] = [range(courses.map(({ at }) => at)), range(courses.map(({ left }) => left))];
  const finding = [
    `ρ(variance rank, accuracy) = ${rho(found)} over ${found.points} implementations`,
    `${rho(found.early)} early, ${rho(found.late)} late`,
    `Gini peaks after ${places} of the steps${notEarly === '' ? '' : `, not early for ${notEarly}`}`,
    `${rests} of the peak is left in the last fifth${notFading === '' ? '' : `, too much for ${notFading}`}`,
  ];
  return {
    where,
    holds: found.rho < -strong && notEarly === '' && notFading === '',
    finding: `${finding.join('; ')}.`,
  };
}

function ada(facts: Facts, comparison: Comparison): Judgement {
  const { label: where } = comparison;
  const [complete] = ofKind(facts, comparison, 'complete');
  const [central] = ofKind(facts, comparison, 'centralized');
  const adas = ofKind(facts, comparison, 'ada');
  if (complete === undefined || adas.length === 0)
    return { where, holds: null, finding: 'Only complete runs of Ada and of D_complete at the same scale can tell.' };
  if (adas.every(({ connections }) => connections!.mean === complete.connections!.mean))
    return { where, holds: null, finding: 'Ada never gives up a connection here: it is the complete topology.' };
  const ratio = (a: Group, b: Group) => a.sentBytes!.mean / b.sentBytes!.mean;
  const findings = adas.map((group) => {
    const bytes = [`${times(ratio(group, complete))} bytes`];
    if (central !== undefined) bytes.push(`${times(ratio(group, central))} than the all-reduce of ${central.name}`);
    const accuracies = [group, complete].map(({ name, accuracy }) => `${name} ${percent(accuracy!)}`).join(', ');
    const apart = points(difference(facts, group, complete));
    return `${accuracies} (difference ${apart}), with ${bytes.join(', but ')}`;
  });
  return {
    where,
    holds: adas.every((group) => !beats(facts, complete, group) && ratio(complete, group) > 1),
    finding: `${findings.join('; ')}.`,
  };
}

const tooFew = 'Fewer than three complete decentralized implementations that differ: too few to tell.';

/** Whether its accuracy is final. */
const counts = (group: Group) => group.complete > 0 && group.accuracy !== null;

/** Groups with that topology, or the centralized ones. */
const ofKind = ({ runs, groups }: Facts, comparison: Comparison, kind: string): Group[] =>
  comparison.groups
    .map((index) => groups[index]!)
    .filter((group) => {
      const { algorithm, topology } = runs[group.runs[0]!]!.experiment;
      return counts(group) && (algorithm.kind === 'centralized' ? 'centralized' : topology.kind) === kind;
    });

/** Of accuracies, seed by seed where they have common seeds: what a seed brings for both falls out. */
function difference({ runs }: Facts, a: Group, b: Group): Estimate {
  const bySeed = (group: Group) =>
    new Map(
      group.runs
        .map((index) => runs[index]!)
        .filter(({ summary }) => summary.status === 'complete')
        .map(({ experiment, summary }) => [experiment.seed, summary.accuracy?.mean]),
    );
  const others = bySeed(b);
  const paired = estimate(
    [...bySeed(a)].map(([seed, accuracy]) => {
      const other = others.get(seed);
      return accuracy === undefined || other === undefined ? null : accuracy - other;
    }),
  );
  const [own, theirs] = [a.accuracy!, b.accuracy!];
  return paired ?? { mean: own.mean - theirs.mean, half: Math.hypot(own.half ?? 0, theirs.half ?? 0), seeds: 0 };
}

function beats(facts: Facts, a: Group, b: Group): boolean {
  const { mean, half } = difference(facts, a, b);
  return mean > Math.max(margin, half ?? 0);
}

const list = (words: readonly string[]) =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
/** `n = 8, 16 and 32`, or the labels in full. */
const scales = (judgements: readonly Judgement[]) => {
  const labels = judgements.map(({ where }) => where);
  const plain = labels.every((label) => /^n = \d+$/.test(label));
  return list(plain ? labels.map((label, i) => (i === 0 ? label : label.slice('n = '.length))) : labels);
};
const minus = (text: string) => text.replace('-', '−');
const inPoints = ({ mean, half }: Estimate) =>
  minus(`${(100 * mean).toFixed(2)}${half === null ? '' : ` ± ${(100 * half).toFixed(2)}`}`);
const percent = (value: Estimate) => `${inPoints(value)} %`;
const points = (value: Estimate) => `${inPoints(value)} points`;
const rho = (found: Correlation) =>
  found.rho === null ? 'unknown' : `${minus(found.rho.toFixed(2))} (p = ${Number(found.p!.toPrecision(2))})`;
const share = (value: number) => (100 * value).toFixed(0);
const range = (values: readonly number[]) => {
  const [least, largest] = [share(Math.min(...values)), share(Math.max(...values))];
  return least === largest ? `${least} %` : `${least} to ${largest} %`;
};
const times = (ratio: number) =>
  `${(ratio < 1 ? 1 / ratio : ratio).toPrecision(2)} times ${ratio < 1 ? 'fewer' : 'more'}`;
