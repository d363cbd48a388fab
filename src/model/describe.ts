import { sizeOf } from '../base/shape.ts';
import type { Program } from '../tensor/program.ts';
import type { Model } from './context.ts';
import { flopsOf } from './flops.ts';
import { type Layout, rowSize } from './layout.ts';
import { evalStep, gradientStep, type Step } from './step.ts';

/** A model as data: its tensors, and what a sample costs. */
export function describeModel(model: Model, batchSize: number) {
  const [forward, backward] = [evalStep(model, batchSize), gradientStep(model, batchSize)];
  const samples = sizeOf(forward.batch.labels.shape);
  return {
    parameters: rowSize(forward.params),
    tensors: tensorsOf(forward.params),
    state: tensorsOf(forward.state),
    // Of a text, every token is a sample.
    flopsPerSample: { forward: flopsOf(forward.program) / samples, training: flopsOf(backward.program) / samples },
  };
}

/** Everything needed to run an exported step: its inputs and outputs, and where each tensor lies in its row. */
export function describeStep({ program, params, state, slots }: Step) {
  return {
    inputs: ports(program, program.inputs),
    outputs: ports(program, program.outputs),
    rows: { params: tensorsOf(params), state: tensorsOf(state) },
    // Optimizer state, zero at first, laid out as the parameters.
    slots,
  };
}

/** Values that come from a file are not repeated. */
const tensorsOf = <T extends Layout>(layout: T): T[number][] =>
  layout.map((tensor) =>
    tensor.init.kind === 'given' ? { ...tensor, init: { ...tensor.init, values: new Float32Array() } } : { ...tensor },
  );

const ports = ({ types }: Program, named: Program['inputs']) =>
  named.map(({ name, value }) => ({ name, ...types[value]! }));
