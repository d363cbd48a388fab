import { sizeOf } from '../../base/shape.ts';
import type { OnnxFile, OnnxNode } from '../../onnx/file.ts';
import type { Constant } from '../../onnx/values.ts';
import type { ParameterKind } from '../../optim/transform.ts';
import { fanInUniform, filled, given, type Init, normal } from '../layout.ts';
import { isMadeUp } from './names.ts';

/** A tensor of the file that a run trains or carries on. */
export interface ImportedTensor {
  readonly name: string;
  readonly role: 'parameter' | 'state';
  readonly kind: ParameterKind;
  readonly constant: Constant;
  /** What it starts at in a fresh model. */
  readonly fresh: Init;
}

const none: readonly number[] = [];
const all = 'all';
/** Inputs through which no gradient flows; of ops that are not here, through none of them it stops. */
const still: Readonly<Record<string, readonly number[] | typeof all>> = {
  Gather: [1],
  Reshape: [1],
  Expand: [1],
  Slice: [1, 2, 3, 4],
  Split: [1],
  Squeeze: [1],
  Unsqueeze: [1],
  ReduceSum: [1],
  ReduceMean: [1],
  Pad: [1, 2, 3],
  Clip: [1, 2],
  Dropout: [1, 2],
  Where: [0],
  Trilu: [1],
  Pow: [1],
  LSTM: [4],
  BatchNormalization: [3, 4],
  Shape: all,
  Size: all,
  ConstantOfShape: all,
  Range: all,
  Equal: all,
  Less: all,
  LessOrEqual: all,
  Greater: all,
  GreaterOrEqual: all,
  And: all,
  Or: all,
  Not: all,
};

const floats = [1, 10, 11, 16];

function flows({ op, attributes }: OnnxNode, input: number): boolean {
  if (op === 'Cast') return floats.includes(attributes.get('to') as number);
  const stops = still[op] ?? none;
  return stops !== all && !stops.includes(input);
}

/** Tensors of the file that the outputs depend on smoothly are parameters, running statistics are state, the rest is constant. */
export function storedTensors(file: OnnxFile, frozen: readonly string[]): readonly ImportedTensor[] {
  const { nodes, initializers } = file;
  const reached = new Set(file.outputs.map(({ name }) => name));
  const state = new Map<string, Init>();
  for (const node of nodes.toReversed()) {
    if (!node.outputs.some((name) => reached.has(name))) continue;
    node.inputs.forEach((name, i) => {
      if (flows(node, i)) reached.add(name);
      if (node.op === 'BatchNormalization' && i >= 3) state.set(name, filled(i - 3));
    });
  }
  const uses = usesOf(nodes);
  return [...initializers].flatMap(([name, constant]): ImportedTensor[] => {
    // Single numbers of exporters are constants.
    const isNumber = constant.dims.length === 0 && isMadeUp(name);
    if (constant.kind !== 'float' || isNumber || frozen.includes(name)) return [];
    const running = state.get(name);
    if (running) return [{ name, role: 'state', kind: 'norm', constant, fresh: running }];
    if (!reached.has(name)) return [];
    return [{ name, role: 'parameter', constant, ...start(constant, uses.get(name) ?? []) }];
  });
}

interface Place {
  readonly node: OnnxNode;
  readonly input: number;
  /** Whether it was transposed on the way there. */
  readonly isTurned: boolean;
}

/** Where names are used, seen through the ops that only turn, cut or join them. */
function usesOf(nodes: readonly OnnxNode[]): ReadonlyMap<string, readonly Place[]> {
  const through = new Set(['Transpose', 'Slice', 'Concat', 'Unsqueeze', 'Squeeze', 'Identity', 'Reshape', 'Split']);
  const uses = new Map<string, readonly Place[]>();
  for (const node of nodes.toReversed())
    node.inputs.forEach((name, input) => {
      if (name === '') return;
      const later = through.has(node.op) ? node.outputs.flatMap((output) => uses.get(output) ?? []) : [];
      const turned = later.map((use) => ({ ...use, isTurned: use.isTurned !== (node.op === 'Transpose') }));
      const own = turned.length > 0 ? turned : [{ node, input, isTurned: false }];
      uses.set(name, [...(uses.get(name) ?? []), ...own].slice(0, 16));
    });
  return uses;
}

const nowhere = { node: undefined, input: 0, isTurned: false };
const norms = ['BatchNormalization', 'LayerNormalization', 'InstanceNormalization'];

/** What a tensor is, and what PyTorch would start it at: by the first op that computes with it. */
function start({ dims }: Constant, uses: readonly Place[]): { readonly kind: ParameterKind; readonly fresh: Init } {
  const { node, input, isTurned } = uses.find(({ node: { op } }) => op === 'Gather') ?? uses[0] ?? nowhere;
  const op = node?.op ?? '';
  if (norms.includes(op)) return { kind: 'norm', fresh: filled(input === 1 ? 1 : 0) };
  if (op === 'Gather' && input === 0 && dims.length === 2) return { kind: 'embedding', fresh: normal(1) };
  if (op === 'LSTM') {
    const hidden = node!.attributes.get('hidden_size');
    return { kind: dims.length > 1 && input < 3 ? 'weight' : 'bias', fresh: fanInUniform(Number(hidden) || 1) };
  }
  // Norms that exporters take apart end in a product with their scale and a sum with their shift.
  if (dims.length <= 1) return op === 'Mul' ? { kind: 'norm', fresh: filled(1) } : { kind: 'bias', fresh: filled(0) };
  // Convolutions take [outputs, inputs, …], products from the right [inputs, outputs], unless they are turned on the way.
  const isRight = (op === 'Gemm' && node!.attributes.get('transB') !== 1) || (op === 'MatMul' && input === 1);
  const fanIn = op === 'Conv' || isRight === isTurned ? sizeOf(dims.slice(1)) : dims[0]!;
  if (op === 'Conv' || op === 'Gemm' || op === 'MatMul') return { kind: 'weight', fresh: fanInUniform(fanIn) };
  return { kind: 'weight', fresh: normal(0.02) };
}

export const initOf = ({ constant, fresh }: ImportedTensor, init: 'file' | 'fresh'): Init =>
  init === 'fresh' ? fresh : given(new Float32Array(constant.data));
