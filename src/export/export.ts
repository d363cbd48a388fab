import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { UserError } from '../base/error.ts';
import { makeFolder, writeWhole } from '../base/file.ts';
import { writeTensors } from '../base/safetensors.ts';
import type { Dataset } from '../data/dataset.ts';
import { loadData } from '../data/load.ts';
import { feedOf } from '../engine/feed.ts';
import { replaceFiles } from '../experiment/files.ts';
import { summarizeRun } from '../metric/summary.ts';
import type { Model } from '../model/context.ts';
import { inferStep } from '../model/infer.ts';
import { type Layout, rowSize } from '../model/layout.ts';
import { buildModel } from '../model/models.ts';
import type { Step } from '../model/step.ts';
import { toOnnx } from '../onnx/lowering.ts';
import { experimentIn } from '../store/parts.ts';
import { type Run, readContext } from '../store/runs.ts';
import { cardOf, type ModelConfig } from './card.ts';
import { type Weights, type Which, weightsOf } from './weights.ts';

export interface ExportOptions {
  readonly folder: string;
  readonly which: Which;
  /** Samples in a batch of the ONNX model. */
  readonly batch: number;
}

/** How bytes became numbers: (byte/255 − mean) / deviation, read back from the table that batches are filled with. */
function normalisation(scale: Float32Array): { mean: number[]; deviation: number[] } {
  const channels = Array.from(
    { length: scale.length / 256 },
    (_, c) => [scale[256 * c]!, scale[256 * c + 255]!] as const,
  );
  const deviation = channels.map(([black, white]) => 1 / (white - black));
  return { mean: channels.map(([black], c) => -black * deviation[c]!), deviation };
}

/** How inputs are made and what outputs stand for. */
export function aboutData(dataset: Dataset): Readonly<Record<string, unknown>> {
  if (dataset.task === 'language') return { vocabulary: 'vocab.json' };
  const { classNames, columns, normalisation: features, targets, train, task } = dataset;
  return {
    ...(train.scale ? { pixels: { range: [0, 255], ...normalisation(train.scale) } } : {}),
    ...(columns === undefined ? {} : { columns }),
    ...(features === undefined ? {} : { features }),
    ...(classNames === undefined ? {} : { [task === 'classification' ? 'classes' : 'outputs']: classNames }),
    ...(targets === undefined ? {} : { targets }),
  };
}

/** Tensors by the names that PyTorch knows them by; what is shared is there under both. */
export function stateDict(
  model: Model,
  { params, state }: Pick<Step, 'params' | 'state'>,
  weights: Pick<Weights, 'params' | 'state'>,
) {
  const cut = (layout: Layout, row: Float32Array) =>
    layout.map(
      ({ name, shape, offset, size }) => [name, { shape, data: row.subarray(offset, offset + size) }] as const,
    );
  // A place in a text is no part of the model.
  const own = new Map([...cut(params, weights.params), ...(model.sequential ? [] : cut(state, weights.state))]);
  for (const [name, parameter] of Object.entries(model.shared ?? {})) own.set(name, own.get(parameter)!);
  return own;
}

/** What a file of the user's holds besides, as PyTorch has it. */
const keptOf = (model: Model) =>
  [...(model.kept?.() ?? [])].map(([name, { kind, dims: shape, data }]) => {
    if (kind === 'float') return [name, { shape, pieces: [new Float32Array(data)] }] as const;
    if (kind === 'bool') return [name, { shape, dtype: 'BOOL', pieces: [new Uint8Array(data)] }] as const;
    return [name, { shape, dtype: 'I64', pieces: [BigInt64Array.from(data, BigInt)] }] as const;
  });

/** The model as an ONNX file with its weights: x → logits. */
export function inferenceOnnx(model: Model, step: Step, weights: Pick<Weights, 'params' | 'state'>): Uint8Array {
  const named = [...stateDict(model, step, weights)].flatMap(([name, { data }]) =>
    ['params', 'state'].map((row) => [`${row}/${name}`, { name, data }] as const),
  );
  const inputs = new Set(step.program.inputs.map(({ name }) => name));
  return toOnnx(step.program, { weights: Object.fromEntries(named.filter(([input]) => inputs.has(input))) });
}

/** Inputs and outputs of the ONNX model. */
function portsOf({ program }: Step, tensors: ReadonlyMap<string, unknown>) {
  const isWeight = (name: string) => /^(params|state)\//.test(name) && tensors.has(name.slice(name.indexOf('/') + 1));
  const ports = (named: Step['program']['inputs']) =>
    named.map(({ name, value }) => ({ name, ...program.types[value]! }));
  return { inputs: ports(program.inputs.filter(({ name }) => !isWeight(name))), outputs: ports(program.outputs) };
}

/** Nothing of the user's is overwritten. */
function requireEmpty(folder: string): void {
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new UserError(`--to ${folder}: the folder is not empty`, { hint: 'name a new folder' });
}

/** Writes what others need to use the model of a run: weights, how they are to be used, the facts of the run, an ONNX model. */
export async function exportRun(run: Run, { folder, which, batch }: ExportOptions): Promise<readonly string[]> {
  requireEmpty(folder);
  const { experiment } = run;
  // Names and contents of files are facts of the run, places on somebody's disk are not.
  const named = replaceFiles(experimentIn(run.folder), ({ path, sha256 }) => ({ path: basename(path), sha256 }));
  const dataset = await loadData(experiment.data, { seed: experiment.seed });
  const { task } = feedOf(experiment, dataset);
  const model = buildModel(experiment.model, task);
  // State that is a place in a text has a row for each of a batch.
  const trained = inferStep(model, experiment.batch);
  const weights = weightsOf(run, which, trained.params, trained.state);
  const tensors = stateDict(model, trained, weights);
  const step = inferStep(model, batch);
  const onnx = inferenceOnnx(model, step, weights);
  const config: ModelConfig = {
    parameters: rowSize(trained.params),
    model: named.model,
    task,
    run: run.id,
    which: which === 'merged' ? 'merged' : which.replica,
    step: weights.step,
    data: dataset.name,
    onnx: portsOf(step, tensors),
    ...aboutData(dataset),
  };
  const about = { run, named, which, step: weights.step, batch, config };
  const card = cardOf(about, await summarizeRun(run), readContext(run));
  makeFolder(folder);
  writeTensors(join(folder, 'model.safetensors'), {
    metadata: { format: 'pt', run: run.id },
    tensors: Object.fromEntries([
      ...[...tensors].map(([name, { shape, data }]) => [name, { shape, pieces: [data] }] as const),
      ...keptOf(model),
    ]),
  });
  const files: Record<string, string | Uint8Array> = {
    'config.json': `${JSON.stringify(config, null, 2)}\n`,
    'model.onnx': onnx,
    ...(dataset.task === 'language' ? { 'vocab.json': `${JSON.stringify(dataset.vocabulary)}\n` } : {}),
    'README.md': card,
  };
  for (const [name, content] of Object.entries(files)) writeWhole(join(folder, name), content);
  return ['model.safetensors', ...Object.keys(files)];
}
