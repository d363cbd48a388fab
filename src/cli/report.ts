import { Command } from 'commander';
import { UserError } from '../base/error.ts';
import { writeWhole } from '../base/file.ts';
import { findNetworks } from '../experiment/network.ts';
import { buildReport, newestTask, withoutRepeats } from '../report/build.ts';
import { exportTables } from '../report/export.ts';
import { findRuns, type Run, scanRuns } from '../store/runs.ts';
import { jsonOption, placementOption, runsOption } from './options.ts';
import { textWidth } from './print.ts';
import { reportMarkdown, reportText } from './report-text.ts';

interface Options {
  readonly runs: string;
  readonly mixed?: true;
  readonly network?: string;
  readonly compute?: string;
  readonly placement?: string;
  readonly md?: true;
  readonly json?: true;
  readonly html?: string;
  readonly figures?: string;
  readonly plain?: true;
  readonly tables?: string;
  readonly parquet?: true;
  readonly tensorboard?: string;
}

/** The runs named, or those of the task that was run last. */
function chosen(words: readonly string[], root: string): Run[] {
  if (words.length > 0) return words.flatMap((word) => findRuns(root, word));
  const { runs, problems } = scanRuns(root);
  for (const problem of problems) console.error(`dbench: ${problem}`);
  if (runs.length === 0)
    throw new UserError(`there are no runs in ${root}`, { hint: 'start some with: dbench compare' });
  const newest = newestTask(runs);
  if (newest.length < runs.length)
    console.error(
      `dbench: ${newest.length} of ${runs.length} runs in ${root} are of the task that was run last; name others to see them\n`,
    );
  return newest;
}

export function command(): Command {
  return new Command('report')
    .argument(
      '[runs...]',
      'ids, beginnings of ids, patterns with *, or folders; by default the runs of the task that was run last',
    )
    .addOption(runsOption())
    .option('--mixed', 'allow runs of different tasks; each task is compared by itself')
    .option('--network <names>', 'time the runs on these networks without training again, as in summit,10gbe,home')
    .option('--compute <time>', 'with --network: time of one gradient and its step, as in 20ms; measured by default')
    .addOption(placementOption())
    .option('--md', 'print Markdown')
    .addOption(jsonOption('print everything as JSON, on one line'))
    .option('--html <file>', 'write a page with all figures that opens in any browser')
    .option('--figures <folder>', 'write every figure as SVG and PNG')
    .option('--plain', 'figures without title and caption, for papers')
    .option('--tables <folder>', 'write events, settings and dispersion as CSV files')
    .option('--parquet', 'with --tables: as Parquet files')
    .option('--tensorboard <folder>', 'write the scalars of each run for TensorBoard')
    .action(async (words: string[], options: Options) => {
      if (options.plain && options.figures === undefined)
        throw new UserError('--plain is for figures', { hint: 'say where to: --figures <folder> --plain' });
      if (options.parquet && options.tables === undefined)
        throw new UserError('--parquet is for tables', { hint: 'say where to: --tables <folder> --parquet' });
      const runs = chosen(words, options.runs);
      if (options.compute !== undefined && options.network === undefined)
        throw new UserError('--compute is for networks', { hint: 'say which: --network 10gbe --compute 20ms' });
      if (options.placement !== undefined && options.network === undefined)
        throw new UserError('--placement is for networks', { hint: 'say which: --network aws --placement fastest' });
      const networks = options.network === undefined ? undefined : findNetworks(options.network, options.placement);
      // What a text does not show takes as long to read as all the rest.
      const frames = options.json === true || options.html !== undefined || options.figures !== undefined;
      const report = await buildReport(runs, { ...options, networks, frames });
      const distinct = withoutRepeats(runs).runs;
      const readable = report.runs.map(({ id }) => distinct.find((run) => run.id === id)!);
      if (options.tables !== undefined) {
        const { files, problems } = await exportTables(readable, options.tables, options.parquet ? 'parquet' : 'csv');
        for (const problem of problems) console.error(problem);
        for (const file of files) console.error(`wrote ${file}`);
      }
      // Loaded only when asked for: a text alone needs none of what draws.
      if (options.html !== undefined) {
        writeWhole(options.html, (await import('../report/html.ts')).reportHtml(report));
        console.error(`wrote ${options.html}`);
      }
      if (options.figures !== undefined) {
        const files = await (await import('../report/still.ts')).writeStills(report, options.figures, options);
        console.error(`wrote ${files.length} files to ${options.figures}`);
      }
      if (options.tensorboard !== undefined) {
        const { files } = await (await import('../report/tensorboard.ts')).writeTensorBoard(
          readable,
          options.tensorboard,
        );
        console.error(`wrote ${files.length} files; see them with: tensorboard --logdir ${options.tensorboard}`);
      }
      if (options.json) console.log(JSON.stringify(report));
      else if (options.md) console.log(reportMarkdown(report));
      else console.log(reportText(report, textWidth()));
    });
}
