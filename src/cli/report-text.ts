import type { Correlation, Estimate, Group, Observation, Report } from '../report/report.ts';
import { bytes, number, table, wrap } from './print.ts';
import { duration } from './progress.ts';

/** A table of a report, for terminals and for Markdown; columns but the first are numbers. */
interface Section {
  readonly title: string;
  readonly headers: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly legend: string;
}

const dash = '–';
const minus = (text: string) => text.replace('-', '−');
const mean = (value: Estimate | null, show: (value: number) => string) => (value === null ? dash : show(value.mean));
const percent = (share: number) => (100 * share).toFixed(2);
const accuracy = (value: Estimate | null) =>
  value === null ? dash : `${percent(value.mean)}${value.half === null ? '' : ` ± ${percent(value.half)}`}`;
const correlation = ({ rho, p }: Correlation) =>
  rho === null ? dash : `${minus(rho.toFixed(2))} (${Number(p!.toPrecision(2))})`;

const resultLegend = [
  'test: accuracy of the local models, mean ± 95 % interval over seeds',
  'merged: of their average',
  'loss: on the test set',
  'peak Gini: of per-replica tensor norms before averaging, and at which share of the steps',
  'rank: by Gini among decentralized ones, 1 the least, mean over steps and tensors',
  'Ξ: distance of the replicas from their mean',
  'sent: by one replica',
  'time: of training alone',
].join(' · ');

/** What every implementation came to. */
function results({ comparisons, groups, runs }: Report): Section[] {
  const unfinished = (group: Group) => {
    const states = group.runs.map((index) => runs[index]!.summary.status).filter((status) => status !== 'complete');
    return [...(group.complete > 0 ? [number(group.complete)] : []), ...new Set(states)].join(', ');
  };
  return comparisons.map((comparison, place) => ({
    title: `Results, ${comparison.label}`,
    headers: [
      'implementation',
      'connections',
      'test %',
      'merged %',
      'loss',
      'peak Gini',
      'at',
      'rank',
      'final Ξ',
      'sent',
      'time',
      'seeds',
    ],
    rows: comparison.groups.map((index) => {
      const group = groups[index]!;
      const rank = comparison.rank.all[comparison.ranked.indexOf(index)] ?? null;
      return [
        group.name,
        mean(group.connections, (k) => number(k, 3)),
        accuracy(group.accuracy),
        mean(group.mergedAccuracy, percent),
        mean(group.loss, (loss) => loss.toFixed(3)),
        mean(group.peakGini, (gini) => gini.toFixed(4)),
        mean(group.peakGiniAt, (at) => `${(100 * at).toFixed(0)} %`),
        rank === null ? dash : rank.toFixed(2),
        mean(group.finalDistance, (distance) => number(distance, 3)),
        mean(group.sentBytes, bytes),
        mean(group.seconds, duration),
        unfinished(group),
      ];
    }),
    legend: place < comparisons.length - 1 ? '' : resultLegend,
  }));
}

/** What it took to reach an accuracy. */
function costs({ comparisons, groups }: Report): Section[] {
  return comparisons.flatMap((comparison) => {
    const members = comparison.groups.map((index) => groups[index]!);
    const targets = members[0]!.reached.map((target) => target.accuracy);
    if (targets.length === 0) return [];
    const cell = ({ runs, epochs, sentBytes, seconds }: Group['reached'][number], group: Group) => {
      if (runs === 0) return 'never';
      const cost = `${number(epochs!.mean, 2)} · ${bytes(sentBytes!.mean)} · ${seconds!.mean.toPrecision(2)} s`;
      return runs < group.runs.length ? `${cost} (${runs} of ${group.runs.length})` : cost;
    };
    return [
      {
        title: `Cost to a test accuracy, ${comparison.label}`,
        headers: ['implementation', ...targets.map((target) => `${number(100 * target, 3)} %`)],
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
      headers: ['scale', 'implementations', 'connections', 'variance rank', 'of early steps', 'of late steps'],
      rows: told.map(({ label, connectionsAccuracy, varianceAccuracy }) => [
        label,
        number(connectionsAccuracy.points),
        ...[connectionsAccuracy, varianceAccuracy, varianceAccuracy.early, varianceAccuracy.late].map(correlation),
      ]),
      legend: 'in brackets: two-sided permutation p-value · early: the first fifth of the steps',
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

/** In short: of several scales, costs only at the largest. */
const sectionsOf = (report: Report, short: boolean) => [
  ...results(report),
  ...scalings(report),
  ...costs(report).slice(short ? -1 : 0),
  ...correlations(report),
];

const verdict = ({ holds }: Observation) => (holds === null ? 'cannot be told' : holds ? 'holds' : 'does not hold');

/** The report at a glance, for a terminal. */
export function reportText(report: Report, width: number): string {
  const sections = sectionsOf(report, true).map(({ title, headers, rows, legend }) =>
    [title, '', table(headers, rows), ...(legend === '' ? [] : [wrap(legend, width)])].join('\n'),
  );
  const observations = report.observations.map((observation, index) =>
    [
      wrap(`${index + 1}. ${observation.claim} ${verdict(observation).toUpperCase()}`, width, '   '),
      `   ${wrap(observation.finding, width - 3, '   ')}`,
    ].join('\n'),
  );
  const notes = report.notes.map((note) => wrap(`- ${note}`, width, '  '));
  return [
    report.title,
    ...sections,
    ['Observations', '', ...observations].join('\n'),
    ...(notes.length > 0 ? [['Notes', '', ...notes].join('\n')] : []),
  ].join('\n\n');
}

const cells = (row: readonly string[]) => `| ${row.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;

export function reportMarkdown(report: Report): string {
  const sections = sectionsOf(report, false).map(({ title, headers, rows, legend }) =>
    [
      `## ${title}`,
      '',
      cells(headers),
      cells(headers.map((_, column) => (column === 0 ? '---' : '---:'))),
      ...rows.map(cells),
      ...(legend === '' ? [] : ['', `*${legend}*`]),
    ].join('\n'),
  );
  const observations = report.observations.map((observation) =>
    [
      `### ${observation.claim} **${verdict(observation)}**`,
      '',
      observation.finding,
      ...(observation.details.length > 0 ? ['', ...observation.details.map((detail) => `- ${detail}`)] : []),
      '',
      `*Criterion: ${observation.criterion}*`,
    ].join('\n'),
  );
  return [
    `# ${report.title}`,
    ...sections,
    '## Observations',
    ...observations,
    ...(report.notes.length > 0 ? [['## Notes', '', ...report.notes.map((note) => `- ${note}`)].join('\n')] : []),
  ].join('\n\n');
}
