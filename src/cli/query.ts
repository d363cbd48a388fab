import { Command } from 'commander';
import { UserError } from '../base/error.ts';
import { scanRuns } from '../store/runs.ts';
import { withTables } from '../store/tables.ts';
import { tidyTables } from '../store/tidy.ts';
import type { Answer } from '../store/views.ts';
import { jsonOption, runsOption } from './options.ts';
import { csv, number, table, wrap } from './print.ts';

interface Options {
  readonly runs: string;
  readonly json?: true;
  readonly csv?: true;
}

const examples = `
Examples:
  The implementations at every scale, over their seeds:
    dbench query "select name, replicas, count(*) as seeds,
        avg(accuracy) as accuracy, stddev(accuracy) as sd
      from runs where status = 'complete'
      group by all order by replicas, accuracy desc"
  When the variance between the replicas is largest:
    dbench query "select run, max(gini) as peak, arg_max(step, gini) as step
      from (select run, step, avg(gini) as gini from dispersion group by all)
      group by run order by peak"
  Accuracy for the bytes it cost, by one setting of the experiment:
    dbench query 'select "learningRate.base" as base, name, accuracy,
        sent_bytes / 1e6 as megabytes
      from runs order by megabytes'
`;

function tablesHelp(): string {
  const indented = (text: string) => wrap(text, 74).replaceAll(/^/gm, '    ');
  const rows = Object.entries(tidyTables).map(([name, { summary, columns }]) =>
    [`  ${name}`, indented(summary), indented(columns.map((column) => column.name).join(', '))].join('\n'),
  );
  const settings = 'Settings of a run are columns of runs by their path:\nname, seed, replicas, "topology.kind", …';
  return `\nTables:\n${rows.join('\n')}\n\n${settings}\n`;
}

/** Mistakes in the question, which are the user's; others may be damage in a run's file. */
const aboutTheQuestion =
  /^(Parser|Binder|Catalog|Conversion|Invalid Input|Permission|Out of Range|Not implemented|Invalid Type) ?(Error)?/;

const oneMessage = (error: unknown) =>
  (error as Error).message
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
    .join('\n  ');

async function answer(root: string, sql: string): Promise<Answer> {
  if (sql.trim() === '')
    throw new UserError('the question is empty', { hint: 'as in: dbench query "select * from runs"' });
  const { runs, problems } = scanRuns(root);
  if (runs.length === 0)
    throw new UserError(problems[0] ?? `there are no runs in ${root}`, { hint: 'start one with: dbench run FILE' });
  const mistake = (error: unknown) =>
    new UserError(oneMessage(error), {
      cause: error,
      hint: (error as Error).message.startsWith('Permission')
        ? 'a question reads the runs and nothing else; redirect --csv or --json to keep the answer'
        : 'see the tables with: dbench query --help',
    });
  const asked = withTables(runs, async (tables) => {
    await tables.seal(sql);
    const found = await tables.ask(sql).catch((error) => {
      throw aboutTheQuestion.test((error as Error).message) ? mistake(error) : error;
    });
    for (const problem of [...problems, ...tables.problems]) console.error(`dbench: left out: ${problem}`);
    return found;
  });
  return asked.catch((error) => Promise.reject(error instanceof UserError ? error : mistake(error)));
}

const cell = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

function tableOf({ columns, numeric, rows }: Answer): string {
  const show = (value: unknown) => (value === null ? '–' : typeof value === 'number' ? number(value) : cell(value));
  const words = columns.filter((_, index) => !numeric[index]);
  const count = `${number(rows.length)} row${rows.length === 1 ? '' : 's'}`;
  return `${table(
    columns,
    rows.map((row) => columns.map((column) => show(row[column]))),
    words,
  )}\n\n${count}`;
}

export function command(): Command {
  return new Command('query')
    .argument('<sql>', 'a question in SQL (DuckDB)')
    .addOption(runsOption())
    .addOption(jsonOption().conflicts('csv'))
    .option('--csv', 'print CSV')
    .addHelpText('after', () => tablesHelp() + examples)
    .action(async (sql: string, options: Options) => {
      const found = await answer(options.runs, sql);
      const { columns, rows } = found;
      if (options.json) console.log(JSON.stringify(rows, null, 2));
      else if (options.csv) {
        const cells = rows.map((row) => columns.map((column) => (row[column] === null ? '' : cell(row[column]))));
        console.log(csv([columns, ...cells]));
      } else console.log(tableOf(found));
    });
}
