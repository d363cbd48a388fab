import { Command, Option } from 'commander';
import type { Bench } from '../bench/bench.ts';
import { mixBench } from '../bench/mix.ts';
import { replicasBench } from '../bench/replicas.ts';
import { command as stepCommand } from './bench-step.ts';
import { command as transportCommand } from './bench-transport.ts';
import { jsonOption } from './options.ts';
import { table } from './print.ts';

const benches: Readonly<Record<string, { readonly summary: string; readonly bench: Bench<never> }>> = {
  mix: { summary: 'mixing of replica rows, as a share of memory copy', bench: mixBench },
  replicas: {
    summary: 'training of n replicas: milliseconds per step, what they are spent on, memory',
    bench: replicasBench,
  },
};

export function command(): Command {
  const all = new Command('bench').usage('<what> [options]');
  // Has settings of its own: a model's.
  all.addCommand(
    stepCommand().name('step').description('one training step of a model, against this machine’s matrix product'),
  );
  all.addCommand(transportCommand().description('messages between MPI ranks of the sizes that a model needs'));
  for (const [name, { summary, bench }] of Object.entries(benches)) {
    const one = new Command(name).description(summary).addOption(jsonOption());
    for (const { flags, description, default: usual, parse } of bench.options) {
      const option = new Option(flags, description);
      one.addOption(parse === undefined ? option : option.default(usual).argParser((text) => parse(text)));
    }
    all.addCommand(
      one.action(async (options: { json?: true }) => {
        const { data, title, headers, rows, note } = await bench.run(options as never);
        if (options.json) return console.log(JSON.stringify(data, null, 2));
        console.log(`${title}\n\n${table(headers, rows)}\n\n${note}`);
      }),
    );
  }
  return all;
}
