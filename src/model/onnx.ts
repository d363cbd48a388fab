import { z } from 'zod';
import { sha256Setting } from '../base/content.ts';
import { UserError } from '../base/error.ts';
import { sizeOf } from '../base/shape.ts';
import { type OnnxFile, readOnnx } from '../onnx/file.ts';
import { f32, i32, type Shape } from '../tensor/program.ts';
import { type Tensor, Trace } from '../tensor/trace.ts';
import { type Context, type Model, type Task, tracing } from './context.ts';
import { type Traced, traceGraph, unsupportedNodes } from './import/graph.ts';
import { keptTensors, separated, sharedNames } from './import/names.ts';
import { storedTensors } from './import/parameters.ts';
import { reshape, transpose } from './import/rewrite.ts';
import { shapeOf } from './import/value.ts';

export const onnxSchema = z.strictObject({
  kind: z.literal('onnx').describe('a model of your own, exported to an ONNX file'),
  path: z.string().min(1).describe('the ONNX file'),
  sha256: sha256Setting,
  dataPath: z.string().min(1).optional().describe('the file beside it that holds its weights, if they are not in it'),
  dataSha256: sha256Setting,
  init: z
    .enum(['file', 'fresh'])
    .default('file')
    .describe('start with the weights of the file, or with new ones drawn as PyTorch does'),
  frozen: z
    .array(z.string())
    .default([])
    .describe(
      'names of tensors that are not trained, such as tables of positions: the file does not tell them from weights',
    ),
  batchAxis: z.int().min(0).max(1).default(0).describe('the axis of the samples in the input of the file'),
  tokens: z.int().min(1).optional().describe('how many tokens are read at a time, if the file leaves it open'),
});
export type OnnxSettings = z.infer<typeof onnxSchema>;

let last: { readonly key: string; readonly file: OnnxFile } | undefined;

/** Asked for several times while a run starts; content that has a checksum does not change. */
export function fileOf({ path, sha256, dataPath, dataSha256 }: OnnxSettings): OnnxFile {
  const key = JSON.stringify([path, sha256, dataPath, dataSha256]);
  if (last?.key === key && sha256 !== undefined) return last.file;
  const file = separated(readOnnx({ path, sha256, dataPath, dataSha256 }));
  last = { key, file };
  return file;
}

/** The input and the output of a model that can be trained: one each, and what the input is. */
export function portsOf(file: OnnxFile, { batchAxis, tokens }: Pick<OnnxSettings, 'batchAxis' | 'tokens'>) {
  const { path, inputs, outputs } = file;
  const names = (ports: readonly { readonly name: string }[]) => ports.map(({ name }) => name).join(', ') || 'none';
  if (inputs.length !== 1 || outputs.length !== 1)
    throw new UserError(
      `${path} has the inputs ${names(inputs)} and the outputs ${names(outputs)}; a model needs one of each`,
      { hint: 'export a module whose forward takes the samples alone and returns the logits alone' },
    );
  const [input] = inputs as [OnnxFile['inputs'][number]];
  const { dims, isWhole } = input;
  const batch = dims[batchAxis];
  if (batch === undefined)
    throw new UserError(`${path}: its input ${input.name} has ${dims.length} axes, none for the samples of a batch`);
  const rest = dims.toSpliced(batchAxis, 1);
  const sizes = isWhole && rest.length === 1 ? [typeof rest[0] === 'number' ? rest[0] : tokens] : rest;
  const shape = sizes.map((size) => {
    if (typeof size === 'number') return size;
    throw new UserError(`${path}: the size ${size === undefined ? 'of its sequences' : `"${size}"`} is left open`, {
      hint: isWhole ? 'set model.tokens' : 'export with dynamic_axes for the batch alone',
    });
  });
  if (isWhole && shape.length !== 1)
    throw new UserError(`${path}: its input of whole numbers is [${dims}]; tokens are [batch, time] or [time, batch]`);
  return { isText: isWhole, shape: shape as Shape, exported: typeof batch === 'number' ? batch : undefined };
}

/** How many tokens the model of a file reads at a time; undefined if it reads none. */
export function tokensOfFile(settings: OnnxSettings): number | undefined {
  const { isText, shape } = portsOf(fileOf(settings), settings);
  return isText ? shape[0] : undefined;
}

/** The samples of the task as the file wants them. */
function inputOf(x: Tensor, isText: boolean, shape: Shape, batchAxis: number) {
  if (isText) return { kind: 'tokens', tensor: x, turned: batchAxis === 0 } as const;
  return { kind: 'tensor', tensor: reshape(x, shape.toSpliced(batchAxis, 0, x.shape[0]!)) } as const;
}

/** How many logits the model of a file gives, by tracing it. */
export function logitCount(file: OnnxFile, settings: OnnxSettings): number {
  const { isText, shape, exported = 2 } = portsOf(file, settings);
  const trace = new Trace();
  const { context } = tracing(trace, false, undefined);
  const x = trace.input('x', isText ? i32(shape[0]!, exported) : f32(exported, ...shape));
  const source = { file, stored: storedTensors(file, settings.frozen), init: settings.init };
  const { output } = traceGraph(source, context, inputOf(x, isText, shape, settings.batchAxis), exported);
  return shapeOf(output).at(-1) ?? 1;
}

export const onnxModel = (settings: OnnxSettings, task: Task): Model => importedModel(fileOf(settings), settings, task);

export function importedModel(file: OnnxFile, settings: OnnxSettings, task: Task): Model {
  const { kind, init, frozen, batchAxis } = settings;
  const { isText, shape, exported } = portsOf(file, settings);
  checkOps(file);
  const isTextTask = task.shape.length === 0 || (isText && String(task.shape) === String(shape));
  if (isText !== isTextTask || (!isText && sizeOf(shape) !== sizeOf(task.shape)))
    throw new UserError(
      `${file.path} takes ${isText ? 'tokens' : 'samples of'} [${shape}], but the data are ${isTextTask ? 'text' : `samples of [${task.shape}]`}`,
      { hint: 'use data that fit, or export the model for samples of this shape' },
    );
  if (!isText && batchAxis !== 0) throw new UserError('batchAxis: 1 is for text; samples of numbers come first');
  const source = { file, stored: storedTensors(file, frozen), init };
  const batch = (samples: number) =>
    isText
      ? { x: i32(shape[0]!, samples), labels: i32(shape[0]!, samples) }
      : { x: f32(samples, ...task.shape), labels: i32(samples) };

  /** The shapes with the batch of the file, which its reshapes may have in them. */
  let before: Traced | undefined;
  const exportedTrace = (samples: number) => {
    if (exported === undefined || exported === samples) return undefined;
    if (before === undefined) {
      const trace = new Trace();
      const { context } = tracing(trace, false, undefined);
      const x = trace.input('x', batch(exported).x);
      before = traceGraph(source, context, inputOf(x, isText, shape, batchAxis), exported).traced;
    }
    return before;
  };

  return {
    kind,
    batch,
    shared: sharedNames(file, source.stored),
    kept: () => keptTensors(file, source.stored),
    forward(context: Context, x: Tensor): Tensor {
      const samples = isText ? x.shape[1]! : x.shape[0]!;
      const input = inputOf(x, isText, shape, batchAxis);
      const { output } = traceGraph(source, context, input, samples, exportedTrace(samples));
      return logitsOf(file, output.kind === 'tensor' ? output.tensor : undefined, {
        samples,
        time: isText ? shape[0]! : undefined,
        batchAxis,
        classes: task.classes,
        kind: task.kind,
      });
    },
  };
}

/** Throws with every op that is not supported, and where it is. */
function checkOps(file: OnnxFile): void {
  const unknown = unsupportedNodes(file);
  if (unknown.length === 0) return;
  const ops = [...new Set(unknown.map(({ op }) => op))];
  const where = (op: string) => `${op} (first in node ${unknown.find((node) => node.op === op)!.name})`;
  throw new UserError(`${file.path} uses ops that are not supported: ${ops.slice(0, 8).map(where).join(', ')}`, {
    hint: `"dbench model import ${file.path}" lists all of them`,
  });
}

interface Wanted {
  readonly samples: number;
  readonly time: number | undefined;
  readonly batchAxis: number;
  readonly classes: number;
  readonly kind: Task['kind'];
}

/** The result of the file as rows of logits, in the order of the labels: [time, batch] of a text. */
function logitsOf(file: OnnxFile, y: Tensor | undefined, wanted: Wanted): Tensor {
  const { samples, time, batchAxis, classes, kind = 'classification' } = wanted;
  const { name } = file.outputs[0]!;
  if (y === undefined) throw new UserError(`${file.path}: its output ${name} does not depend on its input`);
  const last = file.nodes.find(({ outputs }) => outputs[0] === name)?.op;
  if (last === 'LogSoftmax' && kind !== 'classification')
    throw new UserError(`${file.path} ends in a log-softmax, which is for classification; this is ${kind}`, {
      hint: 'export the model without it',
    });
  if (last === 'Softmax')
    throw new UserError(
      `${file.path} ends in a softmax, but the loss takes logits, which it applies its own softmax to`,
      {
        hint: 'export the model without its last softmax',
      },
    );
  const given = String(y.shape);
  const rows = samples * (time ?? 1);
  if (time !== undefined && batchAxis === 0 && given === String([samples, time, y.shape.at(-1)!]))
    return checked(reshape(transpose(y, [1, 0, 2]), [rows, y.shape[2]!]));
  if (sizeOf(y.shape.slice(0, -1)) !== rows || y.shape.length < 2)
    throw new UserError(`${file.path}: its output ${name} is [${y.shape}] for a batch of ${samples}`, {
      hint: `it must be ${time === undefined ? '[batch, classes]' : '[batch, time, words], or [time, batch, words] with batchAxis: 1'}`,
    });
  if (time !== undefined && batchAxis === 0)
    return checked(
      reshape(transpose(reshape(y, [samples, time, y.shape.at(-1)!]), [1, 0, 2]), [rows, y.shape.at(-1)!]),
    );
  return checked(reshape(y, [rows, y.shape.at(-1)!]));

  function checked(logits: Tensor): Tensor {
    if (logits.shape[1] === classes) return logits;
    throw new UserError(
      `${file.path} gives ${logits.shape[1]} logits, but the data have ${classes} ${time === undefined ? 'classes' : 'words'}`,
      { hint: `export the model with an output of ${classes}, or use other data` },
    );
  }
}
