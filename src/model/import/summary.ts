import { UserError } from '../../base/error.ts';
import type { OnnxFile } from '../../onnx/file.ts';
import { fileOf, importedModel, logitCount, type OnnxSettings, portsOf } from '../onnx.ts';
import { gradientStep } from '../step.ts';
import { unsupportedNodes } from './graph.ts';
import { isMadeUp, keptTensors, sharedNames } from './names.ts';
import { type ImportedTensor, storedTensors } from './parameters.ts';

const shown = 3;

/** What is in a file, what of it is not supported and where, and what the way it was exported has lost. */
export function importSummary(settings: OnnxSettings) {
  const file = fileOf(settings);
  const stored = storedTensors(file, settings.frozen);
  const unknown = unsupportedNodes(file);
  const size = (role: 'parameter' | 'state') =>
    stored.reduce((sum, each) => sum + (each.role === role ? each.constant.data.length : 0), 0);
  const port = ({ name, isWhole, dims }: OnnxFile['inputs'][number]) =>
    `${name} ${isWhole ? 'int' : 'float'}[${dims.join(', ')}]`;
  return {
    producer: file.producer,
    opset: file.opset,
    input: file.inputs.map(port).join(', '),
    output: file.outputs.map(port).join(', '),
    parameters: size('parameter'),
    state: size('state'),
    tensors: stored.map(({ name, role, kind, constant }) => ({
      name,
      shape: constant.dims,
      kind: role === 'state' ? 'running statistics' : kind,
    })),
    ops: counted(file.nodes.map(({ op }) => op)),
    unsupported: counted(unknown.map(({ op }) => op)).map(({ op, count }) => ({
      op,
      count,
      nodes: unknown
        .filter((node) => node.op === op)
        .slice(0, shown)
        .map(({ name }) => name),
    })),
    notes: notesOn(file, stored),
    problem: unknown.length === 0 ? problemOf(file, settings) : undefined,
  };
}

function counted(ops: readonly string[]): { readonly op: string; readonly count: number }[] {
  const counts = new Map<string, number>();
  for (const op of ops) counts.set(op, (counts.get(op) ?? 0) + 1);
  return [...counts].map(([op, count]) => ({ op, count })).sort((a, b) => b.count - a.count);
}

/** What keeps the model from being trained, if anything does: found by trying, with a batch of two. */
function problemOf(file: OnnxFile, settings: OnnxSettings): string | undefined {
  try {
    const { shape } = portsOf(file, settings);
    gradientStep(importedModel(file, settings, { shape, classes: logitCount(file, settings) }), 2);
    return undefined;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return error.hint === undefined ? error.message : `${error.message}; ${error.hint}`;
  }
}

/** What exporters leave out, as far as the file shows it. */
function notesOn(file: OnnxFile, stored: readonly ImportedTensor[]): string[] {
  const { nodes } = file;
  const count = (op: string) => nodes.filter((node) => node.op === op).length;
  const notes: string[] = [];
  const pairs = count('BatchNormalization') + count('Dropout');
  if (pairs > 0)
    notes.push(
      `Batch norms (${count('BatchNormalization')}) and dropouts (${count('Dropout')}) act as in training while training and as in evaluation while evaluating, whatever the file says.`,
    );
  const unnamed = stored.map(({ name }) => name).filter(isMadeUp);
  if (unnamed.length > 0)
    notes.push(
      `${unnamed.length} tensors have lost their names, such as ${unnamed[0]}: load_state_dict will not know them. Export with do_constant_folding=False and training=TrainingMode.TRAINING.`,
    );
  const folded = nodes.some(({ op, inputs }) => op === 'Conv' && /^onnx::/.test(inputs[1] ?? ''));
  if (folded && count('BatchNormalization') === 0)
    notes.push(
      'Convolutions without names and no batch norms: it was exported in EVAL mode, which puts batch norms into the convolutions before them and removes dropout. It trains without them. Export with training=TrainingMode.TRAINING to keep them.',
    );
  for (const [second, name] of Object.entries(sharedNames(file, stored)))
    notes.push(`${name} is tied: ${second} computes with it too. It is trained as one and exported under both names.`);
  const kept = [...keptTensors(file, stored).keys()];
  if (kept.length > 0)
    notes.push(
      `Not trained: ${kept.slice(0, shown).join(', ')}${kept.length > shown ? ', …' : ''}. Exported as it is.`,
    );
  return notes;
}
