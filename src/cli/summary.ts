import { UserError } from '../base/error.ts';
import type { ScoreName } from '../metric/score.ts';
import { type RunSeries, readManySeries } from '../metric/series.ts';
import { outlineRun, type RunSummary, summaryOf } from '../metric/summary.ts';
import { timeText } from '../network/text.ts';
import type { Run } from '../store/runs.ts';
import { bytes, columnsThatFit, number, percent, table, textWidth, wrap } from './print.ts';
import { duration } from './progress.ts';

export const orDash = (value: number | null, show: (value: number) => string) => (value === null ? '–' : show(value));

interface Column {
  readonly header: string;
  /** What it means, as far as the header does not say it. */
  readonly about: string;
  /** The score it shows: it is there if some run is judged by that. */
  readonly score?: ScoreName;
  /** It is there only if some run has it. */
  readonly rare?: true;
  show(summary: RunSummary): string;
}

const allColumns: readonly Column[] = [
  {
    header: 'connections',
    about: 'neighbours per replica, mean over the steps',
    show: (s) => orDash(s.connections, (k) => number(k, 3)),
  },
  {
    header: 'test %',
    score: 'accuracy',
    about: 'accuracy of the replicas on the test set, mean',
    show: (s) => orDash(s.accuracy?.mean ?? null, percent),
  },
  {
    header: 'merged %',
    score: 'accuracy',
    about: 'accuracy of the average of all replicas',
    show: (s) => orDash(s.mergedAccuracy, percent),
  },
  {
    header: 'test error',
    score: 'error',
    about: 'of the replicas on the test set, root of the mean squared error',
    show: (s) => orDash(s.error?.mean ?? null, (error) => number(error, 4)),
  },
  {
    header: 'merged error',
    score: 'error',
    about: 'of the average of all replicas',
    show: (s) => orDash(s.mergedError, (error) => number(error, 4)),
  },
  { header: 'loss', about: 'on the test set', show: (s) => orDash(s.loss, (loss) => loss.toFixed(3)) },
  {
    header: 'peak Gini',
    about: 'inequality of the replicas’ tensor norms at its largest; 0: all equal',
    show: (s) => orDash(s.peakGini, (gini) => gini.toFixed(4)),
  },
  {
    header: 'final Ξ',
    about: 'distance of the replicas from their mean in the end',
    show: (s) => orDash(s.finalDistance, (distance) => number(distance, 3)),
  },
  { header: 'sent', about: 'by one replica over the run', show: (s) => orDash(s.sentBytes, bytes) },
  {
    header: 'virtual',
    about: 'time of the steps on the network',
    rare: true,
    show: (s) => orDash(s.virtualSeconds, (seconds) => timeText(1e9 * seconds, 3)),
  },
  {
    header: 'training',
    about: 'time of the steps, without loading and evaluating',
    show: (s) => orDash(s.trainingSeconds, duration),
  },
];

/** The least important first. */
const drop = ['loss', 'merged %', 'merged error', 'final Ξ', 'peak Gini', 'training', 'connections'];

/** Without the columns of a score that none of the runs has. */
function columnsFor(summaries: readonly RunSummary[]): readonly Column[] {
  const isError = (summary: RunSummary) => summary.error !== null;
  const judged = (score: ScoreName) =>
    score === 'error' ? summaries.some(isError) : !summaries.every(isError) || summaries.length === 0;
  return allColumns.filter(
    ({ score, rare, show }) =>
      (score === undefined || judged(score)) && (rare === undefined || summaries.some((each) => show(each) !== '–')),
  );
}

/** A row per run and what the columns mean, as wide as the terminal allows. */
export function summaryText(summaries: readonly RunSummary[], names: readonly string[]): string {
  const columns = columnsFor(summaries);
  const unfinished = summaries.some(({ status }) => status !== 'complete');
  const headers = ['implementation', ...columns.map(({ header }) => header), ...(unfinished ? ['status'] : [])];
  const rows = summaries.map((summary, index) => [
    names[index]!,
    ...columns.map(({ show }) => show(summary)),
    ...(unfinished ? [summary.status] : []),
  ]);
  const shown = columnsThatFit(headers, rows, { drop });
  const legend = columns
    .filter(({ header }) => shown.includes(header))
    .map(({ header, about }) => `${header.replace(/ %$/, '')}: ${about}`);
  return `${table(headers, rows, ['status'], { drop })}\n\n${wrap(legend.join(' · '), textWidth())}`;
}

/** One run that is damaged must not hide the others. */
export async function* summariesOrOutlines(stored: readonly Run[]): AsyncGenerator<RunSummary> {
  const all = readManySeries(stored.map(({ database }) => database));
  for (const run of stored) {
    const { value: series } = await all.next();
    if (series instanceof UserError) console.error(`dbench: ${series.message}`);
    yield series instanceof UserError ? outlineRun(run) : summaryOf(run, series as RunSeries | undefined);
  }
}

export const summaryOrOutline = async (stored: Run): Promise<RunSummary> =>
  (await summariesOrOutlines([stored]).next()).value;
