import { cpus } from 'node:os';
import { Command, Option } from 'commander';
import { type BackendChoice, chooseBackend } from '../backends.ts';
import { UserError } from '../base/error.ts';
import { benchStep } from '../bench/step.ts';
import { backendOption, jsonOption } from './options.ts';
import { bytes, fields, number } from './print.ts';
import { countOf, type ModelOptions, modelOptions, modelSettings, optimizerSettings, taskOf } from './settings.ts';

interface Options extends ModelOptions {
  readonly model: string;
  readonly threads: number;
  readonly backend: BackendChoice;
  readonly seconds: number;
  readonly json?: true;
}

function positive(text: string): number {
  if (Number(text) > 0 && Number.isFinite(Number(text))) return Number(text);
  throw new UserError(`--seconds must be a number above 0, got "${text}"`);
}

export function command(): Command {
  const command = new Command('step')
    .requiredOption('--model <kind>', 'as `dbench model` takes it')
    .addOption(
      new Option('--threads <count>', 'that share one step; in a run each worker has one')
        .argParser(countOf('--threads'))
        .default(1),
    )
    .addOption(new Option('--seconds <time>', 'how long to measure').argParser(positive).default(5))
    .addOption(backendOption())
    .addOption(jsonOption());
  for (const option of modelOptions(32)) command.addOption(option);
  return command.action(async (options: Options) => {
    const { batch, threads } = options;
    const model = modelSettings(options.model, options);
    const backend = await chooseBackend(options.backend, model.kind);
    const task = taskOf(model, options);
    const given = { model, task, optimizer: optimizerSettings(options), batch, threads, backend };
    const found = await benchStep(given, options.seconds);
    const cpu = cpus()[0]?.model.trim() ?? 'unknown';
    if (options.json) return console.log(JSON.stringify({ ...given, cpu, ...found }, null, 2));
    console.log(`${options.model}, batch ${batch}, ${threads} thread${threads === 1 ? '' : 's'}, ${backend}, ${cpu}`);
    console.log(
      fields([
        ['step', `${number(found.stepMs, 4)} ms (median of ${number(found.runs)})`],
        ['samples', `${number(found.samplesPerSecond, 4)} per second`],
        ...(found.labelsPerSecond === found.samplesPerSecond
          ? []
          : [['labels', `${number(found.labelsPerSecond, 4)} per second`] as const]),
        ['GFLOP/s', number(found.gflops, 4)],
        [
          'of the peak',
          `${number(100 * found.shareOfPeak, 3)} % of ${number(found.peakGflops, 4)} GFLOP/s (matrix product, same run)`,
        ],
        ['session', `ready in ${number(found.sessionMs, 4)} ms`],
        ['memory', `${bytes(found.memoryBytes)}, parameters ${number(found.parameters)}`],
      ]),
    );
  });
}
