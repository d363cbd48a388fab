import { Command } from 'commander';
import { stringify } from 'yaml';
import { summarizeRun } from '../metric/summary.ts';
import { findRun, readContext } from '../store/runs.ts';
import { jsonOption, runsOption } from './options.ts';
import { bytes, fields, number } from './print.ts';
import { duration } from './progress.ts';

export function command(): Command {
  return new Command('show')
    .argument('<id>', 'of a run, or its beginning')
    .addOption(runsOption())
    .addOption(jsonOption())
    .action(async (id: string, options: { runs: string; json?: true }) => {
      const run = findRun(options.runs, id);
      const summary = await summarizeRun(run);
      const context = readContext(run);
      if (options.json)
        return console.log(JSON.stringify({ ...summary, context, experiment: run.experiment }, null, 2));
      const percent = (share: number | null) => (share === null ? '–' : `${(100 * share).toFixed(2)} %`);
      const known = (value: number | null, show: (value: number) => string) => (value === null ? '–' : show(value));
      const { accuracy } = summary;
      console.log(`${run.id}: ${summary.status}${summary.reason === null ? '' : `, ${summary.reason}`}`);
      console.log(
        fields([
          [
            'steps',
            `${number(summary.steps)} on ${number(summary.replicas)} replicas, ${context.workers} workers${(context.processes ?? 1) > 1 ? ` in each of ${context.processes} processes over ${context.transport}` : ''}`,
          ],
          [
            'test accuracy',
            accuracy ? `${percent(accuracy.mean)} (${percent(accuracy.min)} to ${percent(accuracy.max)})` : '–',
          ],
          ['merged accuracy', percent(summary.mergedAccuracy)],
          [
            'connections',
            known(summary.connections, (k) => `${number(k, 3)} per replica, ${known(summary.gossips, number)} gossips`),
          ],
          [
            'sent',
            known(
              summary.sentBytes,
              (sent) => `${bytes(sent)} in ${known(summary.sentMessages, number)} messages by a replica`,
            ),
          ],
          ['peak Gini', known(summary.peakGini, (gini) => gini.toFixed(5))],
          [
            'distance Ξ',
            known(
              summary.peakDistance,
              (peak) => `${number(peak, 4)} at most, ${number(summary.finalDistance ?? 0, 4)} in the end`,
            ),
          ],
          [
            'step',
            known(summary.stepMs, (ms) => `${number(ms, 3)} ms, ${percent(summary.computeShare)} of it computing`),
          ],
          [
            'training',
            known(
              summary.trainingSeconds,
              (time) => `${duration(time)} of ${known(summary.seconds, duration)} with loading and evaluating`,
            ),
          ],
          [
            'machine',
            `${context.cpu}, ${context.cores} cores, node ${context.node}, ${context.platform}, load ${number(context.load, 2)}`,
          ],
          [
            'dbench',
            `${context.dbench}${context.commit === null ? '' : ` (${context.commit.slice(0, 10)})`}, ${context.backend} ${context.backendVersion}, ${context.startedAt}`,
          ],
          ['paramsSha256', summary.paramsSha256 ?? '–'],
        ]),
      );
      console.log(`\n${stringify(run.experiment)}`);
    });
}
