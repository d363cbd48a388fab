import { UserError } from '../base/error.ts';
import type { TensorKernel } from '../kernel/tensor.ts';
import { printType } from '../tensor/print.ts';
import type { Node, OpKind, Program } from '../tensor/program.ts';
import { type FuseTask, fuse } from './fuse.ts';
import { OneDnnError } from './library.ts';
import { attention } from './lower/attention.ts';
import { batchNorm, batchNormGrad, batchNormInference, batchNorms } from './lower/batch-norm.ts';
import { binaryChain, combination, elementwise } from './lower/elementwise.ts';
import { recurrentRules } from './lower/lstm.ts';
import { norms } from './lower/norm.ts';
import type { Rule, Rules } from './lower/rule.ts';
import { matmulChain, structure } from './lower/structure.ts';
import { convGradWeight, windows } from './lower/window.ts';
import type { Recorder } from './recorder.ts';
import { Scope } from './scope.ts';

const rules: Rules<OpKind> = {
  ...elementwise,
  ...structure,
  ...attention,
  ...windows,
  ...batchNorms,
  ...norms,
  ...recurrentRules,
};

/** Records the calls that a program takes; kernels are asked for when they run. */
export function lower(program: Program, recorder: Recorder, kernel: () => TensorKernel): void {
  const scope = new Scope(recorder, program, kernel);
  for (const task of fuse(program)) named(task, program, () => lowerTask(scope, task));
  scope.finish();
}

/** What the library refuses is the user's to know: which op, on which shapes. */
function named(task: FuseTask, { types }: Program, work: () => void): void {
  try {
    work();
  } catch (cause) {
    if (!(cause instanceof OneDnnError)) throw cause;
    const { op, inputs } = nodeOf(task);
    const shapes = inputs.map((value) => printType(types[value]!)).join(', ');
    throw new UserError(`oneDNN cannot run ${op}(${shapes}): ${cause.message}`, {
      hint: 'use --backend onnx',
      cause,
    });
  }
}

function nodeOf(task: FuseTask): Pick<Node, 'inputs'> & { readonly op: string } {
  if (task.kind === 'combination') return { op: 'add', inputs: [...task.terms.keys()] };
  if (task.kind === 'chain') return task.head;
  if (task.kind === 'convGradBoth') return task.weight;
  return task.kind === 'node' ? task.node : task.norm;
}

function lowerTask(scope: Scope, task: FuseTask): void {
  if (task.kind === 'node') (rules[task.node.op] as Rule<OpKind>)(scope, task.node);
  else if (task.kind === 'normRelu') {
    const result = task.relu.outputs[0]!;
    if (task.norm.op === 'batchNorm') batchNorm(scope, task.norm as Node<'batchNorm'>, result);
    else batchNormInference(scope, task.norm as Node<'batchNormInference'>, result);
  } else if (task.kind === 'normReluGrad') batchNormGrad(scope, task.norm, task.relu);
  else if (task.kind === 'convGradBoth') convGradWeight(scope, task.weight, task.bias.outputs[0]!);
  else if (task.kind === 'combination') combination(scope, task.value, task.terms);
  else if (task.head.op === 'matmul') matmulChain(scope, task.head as Node<'matmul'>, task.links);
  else binaryChain(scope, task.head, task.links);
}
