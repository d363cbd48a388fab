import { Command } from 'commander';
import type { RunSummary } from '../metric/summary.ts';
import { scanRuns } from '../store/runs.ts';
import { jsonOption, runsOption } from './options.ts';
import { number, table } from './print.ts';
import { duration } from './progress.ts';
import { orDash, percent, summaryOrOutline } from './summary.ts';

/** `dbench runs`: what is stored. */
export function command(): Command {
  return new Command('runs')
    .addOption(runsOption())
    .addOption(jsonOption())
    .action(async (options: { runs: string; json?: true }) => {
      const summaries: RunSummary[] = [];
      const { runs, problems } = scanRuns(options.runs);
      for (const problem of problems) console.error(`dbench: ${problem}`);
      for (const stored of runs) summaries.push(await summaryOrOutline(stored));
      if (options.json) return console.log(JSON.stringify(summaries, null, 2));
      if (summaries.length === 0) return console.log(`no runs in ${options.runs}; start one with: dbench run FILE`);
      console.log(
        table(
          ['run', 'status', 'replicas', 'steps', 'test %', 'merged %', 'time'],
          summaries.map((s) => [
            s.id,
            s.status,
            number(s.replicas),
            number(s.steps),
            percent(s.accuracy?.mean),
            percent(s.mergedAccuracy),
            orDash(s.seconds, duration),
          ]),
        ),
      );
    });
}
