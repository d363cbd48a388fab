import { Command } from 'commander';
import { stringify } from 'yaml';
import type { Experiment } from '../experiment/schema.ts';
import { type RunSummary, summarizeRun } from '../metric/summary.ts';
import { timeText } from '../network/text.ts';
import { nanoseconds } from '../network/units.ts';
import { findRun, readContext } from '../store/runs.ts';
import { jsonOption, runsOption } from './options.ts';
import { bytes, fields, number, percent } from './print.ts';
import { duration } from './progress.ts';
import { orDash } from './summary.ts';

function accuraciesOf({
  accuracy,
  mergedAccuracy,
  trainAccuracy,
  clientAccuracy,
}: RunSummary): (readonly [string, string])[] {
  const range = accuracy && `${percent(accuracy.min)} to ${percent(accuracy.max)} %`;
  return [
    ['test accuracy', accuracy === null ? '–' : `${percent(accuracy.mean)} %, mean of the replicas; ${range}`],
    [
      'merged accuracy',
      orDash(
        mergedAccuracy,
        (share) => `${percent(share)} %, of the average of all ${clientAccuracy === null ? 'replicas' : 'servers'}`,
      ),
    ],
    ...(clientAccuracy === null ? [] : [['clients', `${percent(clientAccuracy)} %, mean`] as const]),
    ...(trainAccuracy === null
      ? []
      : [['training accuracy', `${percent(trainAccuracy)} %, mean of the replicas on training samples`] as const]),
  ];
}

/** Where numbers are predicted. */
function errorsOf({ error, mergedError, trainLoss }: RunSummary): (readonly [string, string])[] {
  const show = (value: number) => number(value, 4);
  return [
    ['test error', `${show(error!.mean)}, root of the mean squared error; ${show(error!.min)} to ${show(error!.max)}`],
    ['merged error', orDash(mergedError, (value) => `${show(value)}, of the average of all replicas`)],
    ...(trainLoss === null ? [] : [['training error', `${show(Math.sqrt(trainLoss))}, on training samples`] as const]),
  ];
}

/** How long it took on its network, if it has one. */
function virtualOf({ virtualSeconds }: RunSummary, { network, devices }: Experiment): (readonly [string, string])[] {
  if (network === undefined || virtualSeconds === null) return [];
  const { compute, perSample, measured, factor = 1 } = devices!;
  const text = (time: string) => timeText(nanoseconds(time));
  const given = compute === undefined ? `${text(perSample!)} per sample` : text(measured ?? compute);
  const step = measured === undefined ? given : `${given} × ${number(factor)}, as measured`;
  const where = network.name ?? `a ${network.kind} network`;
  return [['virtual time', `${timeText(1e9 * virtualSeconds)} on ${where}; a step computes ${step}`]];
}

function resultsOf(summary: RunSummary, experiment: Experiment): (readonly [string, string])[] {
  const { control } = summary;
  return [
    ...(summary.error === null ? accuraciesOf(summary) : errorsOf(summary)),
    ['connections', orDash(summary.connections, (k) => `${number(k, 3)} neighbours per replica, mean over the steps`)],
    ['gossips', orDash(summary.gossips, (gossips) => `${number(gossips)} averagings with the neighbours`)],
    ...(control === null
      ? []
      : [
          [
            'control',
            `${number(control.steps - control.capped)} of ${number(control.steps)} controlled steps reached their target, ${number(control.capped)} ended at the cap`,
          ] as const,
        ]),
    [
      'sent',
      orDash(
        summary.sentBytes,
        (sent) => `${bytes(sent)} by a replica, in ${orDash(summary.sentMessages, number)} messages`,
      ),
    ],
    [
      'peak Gini',
      orDash(summary.peakGini, (gini) => `${gini.toFixed(5)}, inequality of the replicas’ tensor norms; 0: all equal`),
    ],
    [
      'distance Ξ',
      orDash(
        summary.peakDistance,
        (peak) =>
          `of the replicas from their mean: ${number(peak, 4)} at most, ${orDash(summary.finalDistance, (last) => number(last, 4))} in the end`,
      ),
    ],
    [
      'step',
      orDash(
        summary.stepMs,
        (ms) =>
          `${number(ms, 3)} ms, ${orDash(summary.computeShare, (share) => `${number(100 * share, 2)} %`)} of it computing`,
      ),
    ],
    ...virtualOf(summary, experiment),
    [
      'training',
      orDash(
        summary.trainingSeconds,
        (time) => `${duration(time)}, ${orDash(summary.seconds, duration)} with loading, evaluating and saving`,
      ),
    ],
  ];
}

function machineOf(context: ReturnType<typeof readContext>): (readonly [string, string])[] {
  const commit = context.commit === null ? '' : ` (${context.commit.slice(0, 10)})`;
  return [
    [
      'machine',
      `${context.cpu}, ${context.cores} cores, node ${context.node}, ${context.platform}, load ${number(context.load, 2)}`,
    ],
    ['dbench', `${context.dbench}${commit}, ${context.backend} ${context.backendVersion}, ${context.startedAt}`],
  ];
}

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
      const ranks =
        (context.processes ?? 1) > 1 ? ` in each of ${context.processes} processes over ${context.transport}` : '';
      console.log(`${run.id}: ${summary.status}${summary.reason === null ? '' : `, ${summary.reason}`}`);
      console.log(
        fields([
          [
            'steps',
            `${number(summary.steps)} on ${number(summary.replicas)} replicas, ${context.workers} workers${ranks}`,
          ],
          ...resultsOf(summary, run.experiment),
          ...machineOf(context),
          ['paramsSha256', summary.paramsSha256 ?? '–'],
        ]),
      );
      console.log(`\n${stringify(run.experiment)}`);
    });
}
