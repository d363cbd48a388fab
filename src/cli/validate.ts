import { Command } from 'commander';
import { stringify } from 'yaml';
import { loadPlan, planText } from '../experiment/experiment.ts';
import { pointText } from '../experiment/sweep.ts';
import { jsonOption, setOption } from './options.ts';
import { number, textWidth, wrap } from './print.ts';

export function command(): Command {
  return new Command('validate')
    .argument('<experiment>', 'a file in YAML or JSON, or the name of one that comes with DBench')
    .addOption(setOption())
    .addOption(jsonOption())
    .action((file: string, options: { set: string[]; json?: true }) => {
      const planned = loadPlan(file, options.set, { hashData: false });
      if (options.json)
        return console.log(
          JSON.stringify(
            planned.map(({ experiment }) => experiment),
            null,
            2,
          ),
        );
      const { point } = planned[0]!;
      const runs = planned.filter((each) => each.point === point).map(({ experiment }) => experiment);
      const count = `${number(planned.length)} run${planned.length === 1 ? '' : 's'}`;
      console.log(`${wrap(`${file}: valid, ${count}: ${planText(planned)}`, textWidth())}\n`);
      if (point.length > 0) console.log(`# The first point: ${pointText(point)}`);
      console.log(
        runs.map((run) => stringify(run, { flowCollectionPadding: true, collectionStyle: 'any' })).join('---\n'),
      );
    });
}
