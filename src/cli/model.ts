import { Command, Option } from 'commander';
import { UserError } from '../base/error.ts';
import { writeWhole } from '../base/file.ts';
import type { Model } from '../model/context.ts';
import { describeModel, describeStep } from '../model/describe.ts';
import { buildModel, modelKinds } from '../model/models.ts';
import { evalStep, gradientStep, type Step, trainStep } from '../model/step.ts';
import { toOnnx } from '../onnx/lowering.ts';
import { optimizer } from '../optim/optimizer.ts';
import { importCommand } from './model-import.ts';
import { jsonOption } from './options.ts';
import { fields, number, table } from './print.ts';
import { type ModelOptions, modelOptions, modelSettings, optimizerSettings, taskOf } from './settings.ts';

interface Options extends ModelOptions {
  readonly export?: string;
  readonly step: keyof typeof steps;
  readonly json?: true;
}

const steps = {
  train: (model: Model, options: Options) => trainStep(model, options.batch, optimizer(optimizerSettings(options))),
  gradient: (model: Model, { batch }: Options) => gradientStep(model, batch),
  eval: (model: Model, { batch }: Options) => evalStep(model, batch),
} satisfies Record<string, (model: Model, options: Options) => Step>;

/** The graph, in ops that run wherever onnxruntime does, and beside it what its inputs and outputs are. */
function exportStep(path: string, step: Step, about: object): string {
  if (!path.endsWith('.onnx')) throw new UserError(`--export ${path}: the name must end in .onnx`);
  const beside = path.replace(/onnx$/, 'json');
  const graph = toOnnx(step.program);
  writeWhole(beside, `${JSON.stringify({ ...about, ...describeStep(step) }, null, 2)}\n`);
  writeWhole(path, graph);
  return beside;
}

function report(
  kind: string,
  { parameters, tensors, state, flopsPerSample }: ReturnType<typeof describeModel>,
): string {
  return [
    table(
      ['tensor', 'shape', 'offset', 'kind'],
      tensors.map(({ name, shape, offset, kind }) => [name, shape.join('×'), number(offset), kind]),
      ['kind'],
    ),
    '',
    kind,
    fields([
      ['parameters', number(parameters)],
      ['state', number(state.reduce((sum, { size }) => sum + size, 0))],
      [
        'FLOP per sample',
        `${number(flopsPerSample.forward, 3)} forward, ${number(flopsPerSample.training, 3)} in training`,
      ],
    ]),
  ].join('\n');
}

export function command(): Command {
  const command = new Command('model')
    .argument('<kind>', modelKinds.join(', '))
    .addOption(jsonOption())
    .option('--export <file.onnx>', 'write a step as an ONNX graph, and its layout beside it as JSON')
    .addOption(
      new Option('--step <which>', 'the step to export').choices(Object.keys(steps)).default('train' as const),
    );
  for (const option of modelOptions(32)) command.addOption(option);
  command.addCommand(importCommand());
  return command.action((kind: string, options: Options) => {
    const settings = modelSettings(kind, options);
    const task = taskOf(settings, options);
    const model = buildModel(settings, task);
    const rule = optimizerSettings(options);
    const about = { model: settings, task, batch: options.batch };
    if (options.export !== undefined) {
      const how = options.step === 'train' ? { optimizer: rule } : {};
      const given = { ...about, step: options.step, ...how };
      const beside = exportStep(options.export, steps[options.step](model, options), given);
      if (!options.json) console.log(`wrote ${options.export} and ${beside}`);
    }
    const description = describeModel(model, options.batch);
    if (options.json) console.log(JSON.stringify({ ...about, ...description }, null, 2));
    else if (options.export === undefined) console.log(report(kind, description));
  });
}
