import { Command } from 'commander';
import { suggest, UserError } from '../base/error.ts';
import { readText } from '../base/file.ts';
import { shippedExperiments } from '../experiment/source.ts';
import { jsonOption } from './options.ts';
import { table } from './print.ts';

/** `dbench experiments`: what comes with the package, and any of it as a file to begin with. */
export function command(): Command {
  return new Command('experiments')
    .argument('[name]', 'print this one, to begin your own with: dbench experiments quickstart > mine.yaml')
    .addOption(jsonOption())
    .action((name: string | undefined, options: { json?: true }) => {
      const all = shippedExperiments();
      if (name !== undefined) return console.log(textOf(name, all).trimEnd());
      if (options.json) return console.log(JSON.stringify(all, null, 2));
      const rows = all.map((each) => [each.name, each.description]);
      console.log(table(['experiment', 'what it does'], rows, ['what it does']));
      console.log('\nrun one: dbench run NAME, from any folder (a file of that name comes first)');
      console.log('begin your own with one: dbench experiments NAME > mine.yaml');
    });
}

function textOf(name: string, all: ReturnType<typeof shippedExperiments>): string {
  const found = all.find((each) => each.name === name);
  if (found !== undefined) return readText(found.path, 'experiment');
  const names = all.map((each) => each.name);
  throw new UserError(`no experiment that comes with DBench is called "${name}"`, { hint: suggest(name, names) });
}
