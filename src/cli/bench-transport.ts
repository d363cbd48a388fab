import { Command, Option } from 'commander';
import { benchTransport } from '../bench/transport.ts';
import { rowSize } from '../model/layout.ts';
import { buildModel } from '../model/models.ts';
import { evalStep } from '../model/step.ts';
import { openWorld } from '../transport/choose.ts';
import { jsonOption, timeoutOption } from './options.ts';
import { bytes, number, table } from './print.ts';
import { countOf, type ModelOptions, modelOptions, modelSettings, taskOf } from './settings.ts';

interface Options extends ModelOptions {
  readonly model: string;
  readonly repetitions: number;
  readonly timeout: number;
  readonly json?: true;
}

/** `mpirun -n 2 dbench bench transport`: all ranks measure, rank 0 tells. */
export function command(): Command {
  const command = new Command('transport')
    .addOption(new Option('--model <kind>', 'whose rows are sent, as `dbench model` takes it').default('resnet20'))
    .addOption(
      new Option('--repetitions <count>', 'of each measurement; printed is the 10th percentile')
        .argParser(countOf('--repetitions'))
        .default(200),
    )
    .addOption(timeoutOption())
    .addOption(jsonOption());
  for (const option of modelOptions(1)) command.addOption(option);
  return command.action(async (options: Options) => {
    const model = modelSettings(options.model, options);
    const parameters = rowSize(evalStep(buildModel(model, taskOf(model, options)), 1).params);
    const world = await openWorld('mpi', { timeoutSeconds: options.timeout });
    const found = await benchTransport(world, parameters, options.repetitions);
    await world.close();
    if (world.rank > 0) return;
    if (options.json) return console.log(JSON.stringify(found, null, 2));
    const speed = (floats: number, ms: number, rate: number) => [bytes(4 * floats), ms.toFixed(3), rate.toFixed(2)];
    const exchanges = found.exchanges.map(({ floats, ms, gigabytesPerSecond }) => [
      floats === parameters ? 'exchange of a row' : 'exchange of a share',
      ...speed(floats, ms, gigabytesPerSecond),
    ]);
    console.log(
      `${options.model}, ${number(parameters)} parameters, ${found.ranks} ranks over ${found.transport}\n\n${table(
        ['', 'size', 'ms', 'GB/s'],
        [
          ['message one way', bytes(4), (found.latencyUs / 1000).toFixed(4), ''],
          ...exchanges,
          ['mean over all ranks', bytes(4 * parameters), found.meanMs.toFixed(3), ''],
          ['copy in memory', ...speed(parameters, found.copyMs, found.copyGigabytesPerSecond)],
        ],
      )}\n\n10th percentile of ${number(options.repetitions)} · exchange: both directions at once, bytes of one counted · a call into the library takes ${number(found.callNs, 3)} ns`,
    );
  });
}
