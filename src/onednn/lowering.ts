import type { TensorKernel } from '../kernel/tensor.ts';
import type { Node, OpKind, Program } from '../tensor/program.ts';
import { fuse, type Task } from './fuse.ts';
import { binaryChain, combination, elementwise } from './lower/elementwise.ts';
import { recurrentRules } from './lower/lstm.ts';
import { batchNorm, batchNormGrad, batchNormInference, norms } from './lower/norm.ts';
import type { Rule, Rules } from './lower/rule.ts';
import { matmulChain, structure } from './lower/structure.ts';
import { convGradWeight, windows } from './lower/window.ts';
import type { Recorder } from './recorder.ts';
import { Scope } from './scope.ts';

/** Records the calls that a program takes; kernels are asked for when they run. */
export function lower(program: Program, recorder: Recorder, kernel: () => TensorKernel): void {
  const rules: Rules<OpKind> = {
    ...elementwise,
    ...structure(kernel),
    ...windows,
    ...norms,
    ...recurrentRules(kernel),
  };
  const scope = new Scope(recorder, program);
  for (const task of fuse(program)) lowerTask(scope, rules, task);
  scope.finish();
  recorder.finish();
}

function lowerTask(scope: Scope, rules: Rules<OpKind>, task: Task): void {
  switch (task.kind) {
    case 'node':
      return (rules[task.node.op] as Rule<OpKind>)(scope, task.node);
    case 'normRelu':
      return task.norm.op === 'batchNorm'
        ? batchNorm(scope, task.norm as Node<'batchNorm'>, task.relu.outputs[0]!)
        : batchNormInference(scope, task.norm as Node<'batchNormInference'>, task.relu.outputs[0]!);
    case 'normReluGrad':
      return batchNormGrad(scope, task.norm, task.relu);
    case 'convGradBoth':
      return convGradWeight(scope, task.weight, task.bias.outputs[0]!);
    case 'chain':
      return task.head.op === 'matmul'
        ? matmulChain(scope, task.head as Node<'matmul'>, task.links)
        : binaryChain(scope, task.head, task.links);
    case 'combination':
      return combination(scope, task.value, task.terms);
  }
}
