import { Command } from 'commander';
import { stringify } from 'yaml';
import { loadExperiment } from '../experiment/experiment.ts';
import { setOption } from './options.ts';

export function command(): Command {
  return new Command('validate')
    .argument('<file>', 'experiment in YAML or JSON')
    .addOption(setOption())
    .option('--json', 'print the resolved runs as JSON')
    .action((file: string, options: { set: string[]; json?: true }) => {
      const runs = loadExperiment(file, options.set);
      if (options.json) return console.log(JSON.stringify(runs, null, 2));
      console.log(
        `${file}: valid, ${runs.length} run${runs.length === 1 ? '' : 's'}: ${runs.map((run) => run.name).join(', ')}\n`,
      );
      console.log(
        runs.map((run) => stringify(run, { flowCollectionPadding: true, collectionStyle: 'any' })).join('---\n'),
      );
    });
}
