import type { Correlation } from '../metric/correlation.ts';
import type { Estimate } from '../metric/estimate.ts';
import { earlyShare } from '../metric/rank.ts';
import type { Comparison, Group, Observation, Report } from './report.ts';

type Facts = Pick<Report, 'runs' | 'groups' | 'comparisons' | 'scaling'>;

/** One claim at one scale. */
interface Judgement {
  readonly where: string;
  readonly holds: boolean | null;
  readonly finding: string;
}

/** A correlation stronger than this counts. */
const strong = 0.8;
/** Accuracies that differ by less than half a point, or by less than their intervals, count as equal. */
const margin = 0.005;

const kindOf = ({ runs, groups }: Facts, index: number): string => {
  const { algorithm, topology } = runs[groups[index]!.runs[0]!]!.experiment;
  return algorithm.kind === 'centralized' ? 'centralized' : topology.kind;
};

const percent = ({ mean, half }: Estimate) =>
  `${(100 * mean).toFixed(2)}${half === null ? '' : ` ± ${(100 * half).toFixed(2)}`} %`;
const rho = ({ rho, p }: Correlation) => (rho === null ? 'unknown' : `${signed(rho)} (p = ${p!.toPrecision(2)})`);
const signed = (value: number) => value.toFixed(2).replace('-', '−');

/** How far accuracies may be apart and count as equal. */
const noise = (a: Estimate, b: Estimate) => Math.max(margin, Math.hypot(a.half ?? 0, b.half ?? 0));

const list = (words: readonly string[]) =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

/** The claims of DBench's paper, each with a plain criterion, held against these runs. */
export function observe(facts: Facts): Observation[] {
  const each = (judge: (facts: Facts, comparison: Comparison) => Judgement) =>
    facts.comparisons.map((comparison) => judge(facts, comparison));
  return [
    scale(facts),
    summed('connections', 'Accuracy rises with the number of connections.', each(connections)),
    summed(
      'variance',
      'Accuracy falls with the variance of parameters across replicas, which peaks early and fades.',
      each(variance),
    ),
    summed('ada', 'Ada is as accurate as the complete topology and sends fewer bytes.', each(ada)),
  ];
}

/** Holds where it does at every scale that can tell. */
function summed(kind: Observation['kind'], claim: string, judgements: readonly Judgement[]): Observation {
  const told = judgements.filter(({ holds }) => holds !== null);
  const last = (told.at(-1) ?? judgements.at(-1))!;
  const holds = told.length === 0 ? null : told.every((each) => each.holds);
  if (judgements.length === 1) return { kind, claim, holds, finding: last.finding, details: [] };
  const where = (wanted: boolean) => told.filter((each) => each.holds === wanted).map((each) => each.where);
  const parts = [
    ...(where(true).length > 0 ? [`holds at ${list(where(true))}`] : []),
    ...(where(false).length > 0 ? [`does not hold at ${list(where(false))}`] : []),
  ];
  const lead = parts.join('; ');
  const finding =
    told.length === 0 ? last.finding : `${lead[0]!.toUpperCase()}${lead.slice(1)}. At ${last.where}: ${last.finding}`;
  return { kind, claim, holds, finding, details: judgements.map((each) => `${each.where}: ${each.finding}`) };
}

/** (1) ρ of scale and accuracy is negative for every implementation. */
function scale({ scaling }: Facts): Observation {
  const told = scaling.flatMap(({ name, replicas, accuracy, correlation }) => {
    const known = replicas.flatMap((n, i) => (accuracy[i] ? [{ n, accuracy: accuracy[i] }] : []));
    if (known.length < 2) return [];
    const [first, last] = [known[0]!, known.at(-1)!];
    const falls = correlation.rho === null ? last.accuracy.mean < first.accuracy.mean : correlation.rho < 0;
    const finding = `${name} ${percent(first.accuracy)} at n = ${first.n}, ${percent(last.accuracy)} at n = ${last.n}${correlation.rho === null ? '' : `, ρ = ${rho(correlation)}`}`;
    return [{ name, falls, finding }];
  });
  const rising = told.filter(({ falls }) => !falls).map(({ name }) => name);
  return {
    kind: 'scale',
    claim: 'Accuracy falls as the number of replicas grows, centralized and decentralized alike.',
    holds: told.length === 0 ? null : rising.length === 0,
    finding:
      told.length === 0
        ? 'These runs have one scale each: runs at several numbers of replicas would tell.'
        : rising.length === 0
          ? `It falls for ${told.length === 1 ? told[0]!.name : `all ${told.length} implementations`}.`
          : `It does not fall for ${list(rising)}${rising.length < told.length ? '; it does for the others' : ''}.`,
    details: told.map(({ finding }) => finding),
  };
}

/** From many connections to few, as the paper orders them. */
const order = ['complete', 'exponential', 'torus', 'ring'];

/** (2) ρ of connections and accuracy is above .8, and no topology beats one that the paper puts before it. */
function connections(facts: Facts, comparison: Comparison): Judgement {
  const { label: where, connectionsAccuracy: found } = comparison;
  if (found.rho === null)
    return {
      where,
      holds: null,
      finding: 'Fewer than three complete decentralized runs, or equal ones: too few to tell.',
    };
  const chain = order.flatMap((kind) => {
    const index = comparison.groups.find((each) => kindOf(facts, each) === kind && facts.groups[each]!.complete > 0);
    const accuracy = index === undefined ? null : facts.groups[index]!.accuracy;
    return accuracy === null ? [] : [{ name: facts.groups[index!]!.name, accuracy }];
  });
  const wrong = chain.flatMap((many, i) =>
    chain
      .slice(i + 1)
      .flatMap((few) =>
        few.accuracy.mean > many.accuracy.mean + noise(few.accuracy, many.accuracy)
          ? [`${few.name} beats ${many.name}`]
          : [],
      ),
  );
  const text = chain.map(({ name, accuracy }) => `${name} ${percent(accuracy)}`).join(', ');
  return {
    where,
    holds: found.rho > strong && wrong.length === 0,
    finding: `ρ(connections, accuracy) = ${rho(found)} over ${found.points} implementations${text === '' ? '' : `; ${text}`}${wrong.length > 0 ? `; ${list(wrong)}` : ''}.`,
  };
}

/** (3) ρ of variance rank and accuracy is below −.8, and Gini peaks in the first fifth of the steps everywhere. */
function variance(facts: Facts, comparison: Comparison): Judgement {
  const { label: where, varianceAccuracy: found, ranked } = comparison;
  if (found.rho === null)
    return { where, holds: null, finding: 'Fewer than three ranked implementations, or equal ones: too few to tell.' };
  const peaks = ranked.flatMap((index) => {
    const { name, peakGiniAt } = facts.groups[index]!;
    return peakGiniAt === null ? [] : [{ name, at: peakGiniAt.mean }];
  });
  const late = peaks.filter(({ at }) => at >= earlyShare);
  const places = peaks.map(({ at }) => at);
  const share = (at: number) => `${(100 * at).toFixed(0)} %`;
  const range = `Gini peaks after ${share(Math.min(...places))} to ${share(Math.max(...places))} of the steps`;
  const exceptions = late.length === 0 ? '' : `; not in the first fifth: ${list(late.map(({ name }) => name))}`;
  return {
    where,
    holds: found.rho < -strong && late.length === 0,
    finding: `ρ(variance rank, accuracy) = ${rho(found)} over ${found.points} implementations (early steps ${rho(found.early)}, late ${rho(found.late)}); ${range}${exceptions}.`,
  };
}

/** Ada is no further below complete than noise, with fewer bytes. */
function ada(facts: Facts, comparison: Comparison): Judgement {
  const { label: where } = comparison;
  const of = (kind: string): Group[] =>
    comparison.groups.flatMap((index) => {
      const group = facts.groups[index]!;
      return kindOf(facts, index) === kind && group.complete > 0 && group.accuracy !== null ? [group] : [];
    });
  const [complete] = of('complete');
  const adas = of('ada');
  if (complete === undefined || adas.length === 0)
    return {
      where,
      holds: null,
      finding: 'It takes complete runs of Ada and of the decentralized complete topology to tell.',
    };
  const [central] = of('centralized');
  const told = adas.map((group) => {
    const [own, others] = [group.accuracy!, complete.accuracy!];
    const fewer = complete.sentBytes!.mean / group.sentBytes!.mean;
    const against =
      central === undefined
        ? ''
        : `; the all-reduce of ${central.name} sends ${times(group.sentBytes!.mean / central.sentBytes!.mean)} than Ada`;
    return {
      holds: own.mean >= others.mean - noise(own, others) && fewer > 1,
      finding: `${group.name} ${percent(own)} against ${percent(others)} of ${complete.name}, with ${times(fewer)}${against}`,
    };
  });
  return {
    where,
    holds: told.every(({ holds }) => holds),
    finding: `${told.map(({ finding }) => finding).join('; ')}.`,
  };
}

const times = (ratio: number) =>
  ratio >= 1 ? `${ratio.toPrecision(2)} times fewer bytes` : `${(1 / ratio).toPrecision(2)} times more bytes`;
