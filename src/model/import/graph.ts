import { UserError } from '../../base/error.ts';
import { sizeOf } from '../../base/shape.ts';
import type { OnnxFile, OnnxNode } from '../../onnx/file.ts';
import type { Shape } from '../../tensor/program.ts';
import type { Tensor } from '../../tensor/trace.ts';
import type { Context } from '../context.ts';
import { folds, leastInputs } from './fold.ts';
import { type ImportedTensor, initOf } from './parameters.ts';
import { rules } from './rules.ts';
import { rebatch } from './shapes.ts';
import { ImportedUse, type ImportedValue, known, need, shapeOf, traced, Unsupported } from './value.ts';

/** Every op that a file may have. */
export const supportedOps: readonly string[] = [
  ...new Set([...Object.keys(rules), ...Object.keys(folds), 'Constant']),
].sort();

/** Nodes with ops that are not known. */
export const unsupportedNodes = ({ nodes }: OnnxFile): readonly OnnxNode[] =>
  nodes.filter(({ op }) => !supportedOps.includes(op));

/** Shapes that values of the file had in another trace, with another batch. */
export interface Traced {
  readonly batch: number;
  readonly shapes: ReadonlyMap<string, Shape>;
}

interface Source {
  readonly file: OnnxFile;
  readonly stored: readonly ImportedTensor[];
  readonly init: 'file' | 'fresh';
}

/** A tensor larger than this is a mistake, or an attack. */
const maxElements = 2 ** 31;

/**
 * Traces the graph of a file, whose one input is given: the result, and the shapes of all values. `exported` is the trace with the batch that
 * the file was written for, if that is another one.
 */
export function traceGraph(
  { file, stored, init }: Source,
  context: Context,
  input: ImportedValue & { readonly tensor: Tensor },
  batch: number,
  exported?: Traced,
): { readonly output: ImportedValue; readonly traced: Traced } {
  const values = new Map<string, ImportedValue>(
    [...file.initializers].map(([name, constant]) => [name, known(constant)]),
  );
  for (const tensor of stored) {
    const { name, role, kind } = tensor;
    const { dims } = tensor.constant;
    const start = initOf(tensor, init);
    values.set(
      name,
      traced(role === 'state' ? context.state(name, dims, start) : context.param(name, dims, start, kind)),
    );
  }
  values.set(file.inputs[0]!.name, input);
  /** See `Rebatch`; where it is 1 nothing is noted. */
  const inner = new Map<string, number>();
  for (const node of file.nodes) {
    const results = apply(node, file, values, context, input.tensor, batch, exported && { ...exported, inner });
    node.outputs.forEach((name, i) => {
      const result = results[i];
      if (result !== undefined && name !== '') values.set(name, result);
    });
  }
  const name = file.outputs[0]!.name;
  const output = values.get(name);
  if (output === undefined) throw new UserError(`${file.path}: nothing computes its output ${name}`);
  const shapes = new Map([...values].map(([each, value]) => [each, shapeOf(value)]));
  return { output, traced: { batch, shapes } };
}

function apply(
  node: OnnxNode,
  file: OnnxFile,
  values: ReadonlyMap<string, ImportedValue>,
  context: Context,
  like: Tensor,
  batch: number,
  exported: (Traced & { readonly inner: Map<string, number> }) | undefined,
): readonly ImportedValue[] {
  try {
    const inputs = node.inputs.map((name) => {
      const value = values.get(name);
      if (name !== '' && value === undefined) throw new Unsupported(`nothing has computed ${name} before`);
      return value;
    });
    let inner = Math.max(1, ...node.inputs.map((name) => exported?.inner.get(name) ?? 1));
    const rebatched = (now: Shape, target: () => Shape): Shape => {
      const [before, after] = [exported?.shapes.get(node.inputs[0]!), exported?.shapes.get(node.outputs[0]!)];
      if (exported === undefined || before === undefined || after === undefined) return target();
      if (node.op === 'Expand')
        return after.map((size, axis) => (axis === 0 && size === exported.batch ? batch : size));
      const found = rebatch(after, { before, now, inner, exported: exported.batch, batch });
      inner = found.inner;
      return found.shape;
    };
    const isLast = node.outputs[0] === file.outputs[0]!.name;
    const use = new ImportedUse({ node, inputs, context, like, opset: file.opset, isLast, rebatched });
    const results = resultsOf(use);
    if (exported !== undefined && inner > 1) for (const name of node.outputs) exported.inner.set(name, inner);
    for (const result of results)
      if (result.kind !== 'known' && !(sizeOf(shapeOf(result)) >= 1 && sizeOf(shapeOf(result)) <= maxElements))
        throw new Unsupported(`its result has the shape [${shapeOf(result)}]`);
    return results;
  } catch (error) {
    if (!(error instanceof Unsupported || error instanceof UserError)) throw error;
    const where = `${file.path}: node ${node.name} (${node.op})`;
    throw new UserError(`${where} cannot be imported: ${error.message}`, { hint: error.hint, cause: error });
  }
}

function resultsOf(use: ImportedUse): readonly ImportedValue[] {
  const { node, inputs } = use;
  if (node.op === 'Constant') {
    const value = node.attributes.get('value');
    if (typeof value === 'object' && 'data' in value) return [known(value)];
    throw new Unsupported('a constant that is no tensor');
  }
  const constants = inputs.flatMap((value) => (value?.kind === 'known' ? [value.constant] : []));
  const fold = folds[node.op];
  // Optional inputs are left out at the end only, or the places of the others would change.
  const isWhole = inputs.findLastIndex((value) => value !== undefined) + 1 === constants.length;
  if (fold !== undefined && Object.hasOwn(folds, node.op) && constants.length > 0 && isWhole) {
    need(constants.length >= (leastInputs[node.op] ?? 1), `input ${constants.length} is missing`);
    return [known(fold(use, ...constants))];
  }
  const rule = Object.hasOwn(rules, node.op) ? rules[node.op] : undefined;
  if (rule === undefined) throw new Unsupported('this op is not supported');
  return rule(use);
}
