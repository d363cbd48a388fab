import { Command } from 'commander';

interface Row {
  readonly name: string;
  readonly summary: string;
  load(): Promise<{ command(): Command }>;
}

/** What can be timed: a file that exports `command()`, and a row. */
const rows: readonly Row[] = [
  {
    name: 'step',
    summary: 'one training step of a model, against this machine’s matrix product',
    load: () => import('./bench-step.ts'),
  },
];

export async function command(): Promise<Command> {
  const bench = new Command('bench');
  for (const { name, summary, load } of rows)
    bench.addCommand((await load()).command().name(name).description(summary));
  return bench;
}
