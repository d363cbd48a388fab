import { Command } from 'commander';
import { UserError } from '../base/error.ts';
import { readText, writeWhole } from '../base/file.ts';
import { quantile } from '../base/statistics.ts';
import { wholeNumber } from '../base/whole-number.ts';
import { drawAssignment } from '../draw/assignment.ts';
import { parseText } from '../experiment/source.ts';
import { cases } from '../network/assign/cases.ts';
import { mostExactStops } from '../network/assign/path.ts';
import { shareOf } from '../network/assign/problem.ts';
import { assign, listedCost, randomCosts } from '../network/assign/search.ts';
import { readSchedule } from '../network/assign/settings.ts';
import { timesInGroups } from '../network/assign/steps.ts';
import { timeText } from '../network/text.ts';
import { jsonOption } from './options.ts';
import { fields, number, ratio, table, textWidth, wrap } from './print.ts';

interface Options {
  readonly svg?: string;
  readonly compute?: string;
  readonly parts?: string;
  readonly json?: true;
}

const drawn = 1000;

function given(file: string, { compute, parts }: Options): unknown {
  const known = cases.find(({ name }) => name === file)?.problem ?? parseText(readText(file, 'schedule'), file);
  return {
    ...(known as object),
    ...(compute !== undefined && { compute }),
    ...(parts !== undefined && { parts: wholeNumber('--parts', parts, 1, 1e6) }),
  };
}

const seconds = (value: number) => timeText(Math.round(1e9 * value));

export function command(): Command {
  return new Command('schedule')
    .argument('[file]', 'devices, network, stages and sizes in YAML or JSON, or the name of a published case')
    .option('--svg <file>', 'draw the pipelines')
    .option(
      '--compute <time>',
      'time of one gradient of the whole model on one device, as in 20s: then a step is timed too',
    )
    .option('--parts <count>', 'micro-batches of a batch, for --compute; 4 × stages by default')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      `\nPublished cases: ${cases.map(({ name, summary }) => `\n  ${name}  ${summary}`).join('')}\n\nA file of your own: docs/network.md\n`,
    )
    .action((file: string | undefined, options: Options) => {
      if (file === undefined)
        throw new UserError('which devices?', {
          hint: `name a file or one of: ${cases.map(({ name }) => name).join(', ')}`,
        });
      const { settings, network, problem } = readSchedule(given(file, options), file);
      const { cost, stages } = assign(problem, settings.seed);
      const listed = listedCost(problem).total;
      const random = quantile(randomCosts(problem, settings.seed, drawn), 0.5);
      const names = network.names ?? Array.from({ length: network.n }, (_, i) => String(i));
      const shares = stages.map((group) => shareOf(problem, group));
      const steps = settings.compute === undefined ? undefined : timesInGroups(network, settings, stages);
      if (options.svg !== undefined) {
        writeWhole(
          options.svg,
          drawAssignment({
            title: `${number(network.n)} devices, ${stages.length} stages`,
            facts: `a step waits ${seconds(cost.total)}: gradients ${seconds(cost.data)}, activations both ways ${seconds(2 * cost.pipeline)}`,
            stages: stages.map((group, stage) => ({
              devices: group.map((d) => ({ label: names[d]!, place: names[d]!.replace(/ \d+$/, '') })),
              seconds: shares[stage]!,
              text: seconds(shares[stage]!),
            })),
            hops: stages
              .slice(1)
              .map((group, stage) => group.map((d, i) => problem.hop[d * problem.devices + stages[stage]![i]!]!)),
          }),
        );
        console.error(`wrote ${options.svg}`);
      }
      if (options.json)
        return console.log(
          JSON.stringify(
            {
              devices: names,
              stages,
              seconds: { ...cost, groups: shares, listedOrder: listed, randomMedian: random },
              step: steps ?? null,
            },
            null,
            2,
          ),
        );
      console.log(`${number(network.n)} devices, ${stages.length} stages of ${number(stages[0]!.length)}\n`);
      console.log(
        table(
          ['stage', 'devices, a pipeline each', 'gradients'],
          stages.map((group, stage) => [
            String(stage + 1),
            group.map((d) => names[d]!).join(', '),
            seconds(shares[stage]!),
          ]),
          ['devices, a pipeline each'],
        ),
      );
      const times = (other: number) => `${seconds(other)}, ${ratio(other, cost.total)} as long`;
      console.log(
        `\n${fields([
          ['gradients in the slowest group', seconds(cost.data)],
          ['activations through the stages, both ways', seconds(2 * cost.pipeline)],
          ['a step waits for both', seconds(cost.total)],
          ['in the listed order', times(listed)],
          [`at random, median of ${number(drawn)}`, times(random)],
        ])}`,
      );
      if (steps !== undefined) {
        const { pipelineNs, exchanges } = steps;
        const best = Math.min(...exchanges.map(({ stepNs }) => stepNs));
        console.log(
          `\nA step, with its ${number(steps.parts)} parts through the pipeline in ${timeText(pipelineNs)}:\n`,
        );
        console.log(
          table(
            ['inside a group', 'per step', 'to the best'],
            exchanges.map(({ name, stepNs }) => [name, timeText(stepNs), ratio(stepNs, best)]),
          ),
        );
      }
      if (stages.length > mostExactStops)
        console.log(
          `\n${wrap(`With more than ${mostExactStops} stages their order is a good one, not surely the best.`, textWidth())}`,
        );
    });
}
