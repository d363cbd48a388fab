import { timeText } from '../network/text.ts';
import { differenceIn, isClear } from '../report/difference.ts';
import { hasFinal, targetText } from '../report/evidence.ts';
import type { Comparison, Correlation, Estimate, Group, Report } from '../report/report.ts';
import { finalOf, mergedOf, type ScoreWords, scoreIn } from '../report/score.ts';
import { hasRow, inPoints, minus, placementText } from '../report/words.ts';
import { bytes, number, ratio } from './print.ts';
import { duration } from './progress.ts';

/** A table of a report, for terminals and for Markdown; columns but the first are numbers. */
export interface Section {
  readonly title: string;
  readonly headers: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly legend: string;
}

const dash = '–';
const mean = (value: Estimate | null, show: (value: number) => string) => (value === null ? dash : show(value.mean));
const finalText = (group: Group, score: ScoreWords) => {
  const value = finalOf(group);
  return value === null ? dash : score.showEstimate(value);
};
const accuracy = (value: Estimate | null) => (value === null ? dash : inPoints(value));
const correlation = ({ rho, p }: Correlation) =>
  rho === null ? dash : `${minus(rho.toFixed(2))} (${Number(p!.toPrecision(2))})`;

/** A column of the results: its header, what it means, and what it says of a group. */
type Column = readonly [header: string, about: string, show: (group: Group) => string];

function resultColumns({ groups, runs }: Report, comparison: Comparison): readonly Column[] {
  const score = scoreIn({ groups }, comparison);
  const controlled = groups.some((group) => runs[group.runs[0]!]!.experiment.consensus.kind !== 'none');
  const rankOf = (group: Group) => comparison.rank.all[comparison.ranked.indexOf(groups.indexOf(group))] ?? null;
  const seeds = (group: Group) => {
    const states = group.runs.map((index) => runs[index]!.summary.status).filter((status) => status !== 'complete');
    return [...(group.complete > 0 ? [number(group.complete)] : []), ...new Set(states)].join(', ');
  };
  return [
    [
      'connections',
      `neighbours per replica, mean over the steps${controlled ? '; under consensus control, times the gossips' : ''}`,
      ({ connections }) => mean(connections, (k) => number(k, 3)),
    ],
    ...(controlled
      ? ([
          ['gossips', 'averagings per step', ({ gossips }) => mean(gossips, (n) => number(n, 3))],
          [
            'at cap',
            'share of the controlled steps that the cap of gossips ended above their target',
            ({ control }) => (control?.steps ? `${((100 * control.capped) / control.steps).toFixed(0)} %` : dash),
          ],
        ] satisfies Column[])
      : []),
    [
      score.sign > 0 ? 'test %' : 'test error',
      `${score.name} of the local models, mean ± 95 % interval over seeds`,
      (group) => finalText(group, score),
    ],
    [score.sign > 0 ? 'merged %' : 'merged error', 'of their average', (group) => mean(mergedOf(group), score.show)],
    ['loss', 'on the test set', ({ loss }) => mean(loss, (value) => value.toFixed(3))],
    [
      'peak Gini',
      'of per-replica tensor norms before averaging, mean over the tensors; in the first steps those that start at 0 make up most of it',
      ({ peakGini }) => mean(peakGini, (gini) => gini.toFixed(4)),
    ],
    [
      'at',
      'share of the steps before that peak',
      ({ peakGiniAt }) => mean(peakGiniAt, (at) => `${(100 * at).toFixed(0)} %`),
    ],
    [
      'rank',
      'by Gini among decentralized ones, 1 the least, mean over steps and tensors',
      (group) => rankOf(group)?.toFixed(2) ?? dash,
    ],
    [
      'final Ξ',
      'distance of the replicas from their mean',
      ({ finalDistance }) => mean(finalDistance, (d) => number(d, 3)),
    ],
    ['sent', 'by one replica', ({ sentBytes }) => mean(sentBytes, bytes)],
    ['training', 'time of the steps, without evaluation', (group) => mean(group.seconds, duration)],
    ['seeds', 'complete runs, and how others ended', seeds],
  ];
}

/** What every implementation came to. */
function results(report: Report): Section[] {
  return report.comparisons.map((comparison, place) => {
    const columns = resultColumns(report, comparison);
    const legend = columns.map(([header, about]) => `${header.replace(/ %$/, '')}: ${about}`).join(' · ');
    return {
      title: `Results, ${comparison.label}`,
      headers: ['implementation', ...columns.map(([header]) => header)],
      rows: comparison.groups.map((index) => {
        const group = report.groups[index]!;
        return [group.name, ...columns.map(([, , show]) => show(group))];
      }),
      legend: place < report.comparisons.length - 1 ? '' : legend,
    };
  });
}

/** A terminal shows all pairs of so many implementations. */
const mostPaired = 8;

/** What the differences can tell. */
const noise = ({ differences }: Comparison, { apart }: ScoreWords) =>
  differences.some(({ accuracy, error }) => ((accuracy ?? error)?.half ?? null) !== null)
    ? `${apart}, seed by seed over common seeds, ± 95 % interval · *: beyond noise, the interval excludes 0; of 20 pairs that do not differ about one gets it by chance`
    : `${apart}, of one seed: without more seeds no difference can be told from noise`;

/** How much more accurate the implementation of a row is than that of a column. */
function differences({ comparisons, groups }: Report, short: boolean): Section[] {
  return comparisons.flatMap((comparison) => {
    const score = scoreIn({ groups }, comparison);
    const complete = comparison.groups.filter((index) => hasFinal(groups[index]!));
    if (complete.length < 2) return [];
    const value = (index: number) => score.sign * finalOf(groups[index]!)!.mean;
    const best = complete.reduce((a, b) => (value(b) > value(a) ? b : a));
    const against = short && complete.length > mostPaired ? [best] : complete;
    const cell = (a: number, b: number) => {
      if (a === b) return '';
      const difference = differenceIn(comparison, a, b);
      return difference === null ? dash : `${score.showEstimate(difference)}${isClear(difference) ? '*' : ' '}`;
    };
    const rest = against.length < complete.length ? [' · all pairs: --md, --json, --html'] : [];
    return [
      {
        title: `Differences in test ${score.name}, ${comparison.label}`,
        headers: ['row − column', ...against.map((index) => groups[index]!.name)],
        rows: complete.map((a) => [groups[a]!.name, ...against.map((b) => cell(a, b))]),
        legend: `${noise(comparison, score)}${rest.join('')}`,
      },
    ];
  });
}

/** What it took to reach an accuracy. */
function costs({ comparisons, groups }: Report): Section[] {
  return comparisons.flatMap((comparison) => {
    const members = comparison.groups.map((index) => groups[index]!);
    const targets = members[0]!.reached.map(targetText);
    if (targets.length === 0) return [];
    const cell = ({ runs, epochs, sentBytes, seconds }: Group['reached'][number], group: Group) => {
      if (runs === 0) return 'never';
      const cost = `${number(epochs!.mean, 2)} · ${bytes(sentBytes!.mean)} · ${seconds!.mean.toPrecision(2)} s`;
      return runs < group.complete ? `${cost} (${runs} of ${group.complete})` : cost;
    };
    return [
      {
        title: `Cost to a test ${scoreIn({ groups }, comparison).name}, ${comparison.label}`,
        headers: ['implementation', ...targets],
        rows: members.map((group) => [group.name, ...group.reached.map((target) => cell(target, group))]),
        legend: 'epochs · sent by one replica · time of training, when the mean of the local models first reached it',
      },
    ];
  });
}

/** How accuracy goes with connections and with variance. */
function correlations({ comparisons }: Report): Section[] {
  const told = comparisons.filter(({ connectionsAccuracy }) => connectionsAccuracy.rho !== null);
  if (told.length === 0) return [];
  return [
    {
      title: 'Spearman’s ρ with the final accuracy',
      headers: ['scale', 'points', 'connections', 'variance rank', 'early', 'late'],
      rows: told.map(({ label, connectionsAccuracy, varianceAccuracy }) => [
        label,
        number(connectionsAccuracy.points),
        ...[connectionsAccuracy, varianceAccuracy, varianceAccuracy.early, varianceAccuracy.late].map(correlation),
      ]),
      legend:
        'points: decentralized implementations · in brackets: two-sided permutation p-value · early, late: ranks of the first fifth of the steps, of the others',
    },
  ];
}

function scalings({ scaling, groups }: Report): Section[] {
  if (scaling.length === 0) return [];
  const scales = [...new Set(groups.map(({ replicas }) => replicas))];
  return [
    {
      title: 'Test accuracy in % over the number of replicas',
      headers: ['implementation', ...scales.map((n) => `n = ${n}`), 'ρ(n, accuracy)'],
      rows: scaling.map((each) => [
        each.name,
        ...scales.map((n) => accuracy(each.accuracy[each.replicas.indexOf(n)] ?? null)),
        correlation(each.correlation),
      ]),
      legend: '',
    },
  ];
}

/** When each network reaches an accuracy, for the middle target; the best is what to use there. */
function networkTimes({ comparisons, groups, networks }: Report): Section[] {
  return networks.flatMap((network) => {
    const { name, compute, groups: timed } = network;
    const gains = placementText(network, groups);
    const placed = gains === '' ? '' : `; a step of plain gossip with devices as listed, instead of placed: ${gains}`;
    return comparisons.flatMap((comparison) => {
      const targets = timed[comparison.groups[0]!]!.reached.map(({ accuracy }) => accuracy);
      if (targets.length === 0) return [];
      const best = targets.map((_, target) =>
        Math.min(...comparison.groups.map((index) => timed[index]!.reached[target]!.seconds?.mean ?? Infinity)),
      );
      const cell = (index: number, target: number) => {
        const { seconds, sentBytes, runs } = timed[index]!.reached[target]!;
        if (timed[index]!.elsewhere) return 'not timed here';
        if (seconds === null || sentBytes === null) return 'not reached';
        const some = runs < groups[index]!.complete ? ` (${runs} of ${groups[index]!.complete})` : '';
        return `${timeText(1e9 * seconds.mean, 3)} · ${bytes(sentBytes.mean)} · ${ratio(seconds.mean, best[target]!)}${some}`;
      };
      return [
        {
          title: `Time to a test accuracy on ${name}, ${comparison.label}`,
          headers: ['implementation', ...targets.map((target) => `${number(100 * target, 3)} %`)],
          rows: comparison.groups
            .filter((index) => hasRow(networks, network, index))
            .map((index) => [groups[index]!.name, ...targets.map((_, target) => cell(index, target))]),
          legend: `virtual time · sent by one replica · times the fastest; a step computes ${compute}${placed}`,
        },
      ];
    });
  });
}

/** In short: of several scales, differences and costs only at the largest. */
export const sectionsOf = (report: Report, short: boolean) => [
  ...results(report),
  ...scalings(report),
  ...differences(report, short).slice(short ? -1 : 0),
  ...costs(report).slice(short ? -1 : 0),
  ...networkTimes(report),
  ...correlations(report),
];
