import { UserError } from '../base/error.ts';
import { outlineRun, type RunSummary, summarizeRun } from '../metric/summary.ts';
import type { Run } from '../store/runs.ts';
import { bytes, number, table, textWidth, wrap } from './print.ts';
import { duration } from './progress.ts';

export const percent = (share: number | null | undefined) =>
  share === null || share === undefined ? '–' : (100 * share).toFixed(2);
export const orDash = (value: number | null, show: (value: number) => string) => (value === null ? '–' : show(value));

export function summaryTable(summaries: readonly RunSummary[], names = summaries.map(({ name }) => name)): string {
  const rows = summaries.map((s, index) => [
    names[index]!,
    orDash(s.connections, (k) => number(k, 3)),
    percent(s.accuracy?.mean),
    percent(s.mergedAccuracy),
    orDash(s.loss, (loss) => loss.toFixed(3)),
    orDash(s.peakGini, (gini) => gini.toFixed(4)),
    orDash(s.finalDistance, (distance) => number(distance, 3)),
    orDash(s.sentBytes, bytes),
    orDash(s.seconds, duration),
    s.status === 'complete' ? '' : s.status,
  ]);
  const headers = [
    'implementation',
    'connections',
    'test %',
    'merged %',
    'loss',
    'peak Gini',
    'final Ξ',
    'sent',
    'time',
    '',
  ];
  return table(headers, rows);
}

export const legend = () =>
  wrap(
    'test: mean accuracy of the local models · merged: of their average · loss: on the test set · Gini: of per-replica tensor norms ' +
      'before averaging · Ξ: distance of the replicas from their mean · sent: by one replica over the run',
    textWidth(),
  );

/** One run that is damaged must not hide the others. */
export async function summaryOrOutline(stored: Run): Promise<RunSummary> {
  try {
    return await summarizeRun(stored);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    console.error(`dbench: ${error.message}`);
    return outlineRun(stored);
  }
}
