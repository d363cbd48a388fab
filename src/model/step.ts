import { UserError } from '../base/error.ts';
import { sizeOf } from '../base/shape.ts';
import { descend, globalSquaredNorm, type Transform } from '../optim/transform.ts';
import type { Buffers, Numbers } from '../tensor/backend.ts';
import { gradients } from '../tensor/gradient.ts';
import { add, div, mean, mul, reshape, softmax, softmaxCrossEntropy, sum } from '../tensor/operations.ts';
import { f32, i32, type Program, type TensorType } from '../tensor/program.ts';
import { type Tensor, Trace } from '../tensor/trace.ts';
import { type Model, tracing } from './context.ts';
import { type Layout, type PlacedParameter, rowSize, views } from './layout.ts';
import { lossesOf } from './loss.ts';

/**
 * A program over flat rows. Its inputs and outputs are `row/tensor` for each tensor of each row, and tensors of their own
 * such as `x` and `loss`; a prime marks the row that the step writes.
 */
export interface Step {
  readonly program: Program;
  readonly params: Layout<PlacedParameter>;
  readonly state: Layout;
  /** Rows of optimizer state, each laid out as the parameters. */
  readonly slots: readonly string[];
  readonly batch: { readonly x: TensorType; readonly labels: TensorType };
}

/** (params, state, slots, x, labels, learningRate, step, key) → (params', state', slots', loss, correct, gradientNorm2) */
export function trainStep(model: Model, batchSize: number, transform: Transform): Step {
  const { trace, parameters, losses, correct, finish } = forward(model, batchSize, true);
  const learningRate = trace.input('learningRate', f32());
  const step = trace.input('step', f32());
  const loss = mean(losses);
  const raw = gradients(loss, tensorsOf(parameters));
  const { params } = finish.layouts();
  const slots = transform.slots.map((slot) =>
    params.map(({ name, shape }) => trace.input(`${slot}/${name}`, f32(...shape))),
  );
  const update = { updates: raw, parameters, slots, learningRate, step };
  const changed = transform.apply(update);
  const next = descend({ ...update, updates: changed.updates });
  const row = (name: string, tensors: readonly Tensor[]) => named(`${name}'`, params, tensors);
  return finish.step(
    {
      ...row('params', next),
      ...finish.nextState(),
      ...Object.assign({}, ...transform.slots.map((slot, i) => row(slot, changed.slots[i]!))),
      loss,
      ...present({ correct: total(correct()) }),
      gradientNorm2: globalSquaredNorm(raw),
    },
    transform.slots,
  );
}

/** (params, state, x, labels, key) → (gradient, state', loss, correct, gradientNorm2) */
export function gradientStep(model: Model, batchSize: number): Step {
  const { parameters, losses, correct, finish } = forward(model, batchSize, true);
  const loss = mean(losses);
  const raw = gradients(loss, tensorsOf(parameters));
  return finish.step({
    ...named('gradient', finish.layouts().params, raw),
    ...finish.nextState(),
    loss,
    ...present({ correct: total(correct()) }),
    gradientNorm2: globalSquaredNorm(raw),
  });
}

/** (params, state, x, labels) → (probabilities, losses): what a model answers, softened by a temperature. */
export function teacherStep(model: Model, batchSize: number, temperature: number): Step {
  const { logits, losses, finish } = forward(model, batchSize, false);
  return finish.step({ probabilities: softmax(div(logits, temperature)), losses });
}

/**
 * The gradient of the divergence from what another model answered, KL(p ‖ softmax(z/T)) on average over the batch, but for the entropy of p in its loss:
 * (params, state, x, labels, target, key) → (gradient, loss), where target is the label's one-hot row minus p. With the cross entropy of
 * the labels y, log Σ exp(z/T) = CE(z/T, y) + z_y/T, so no op is needed that training does not have.
 */
export function distilStep(model: Model, batchSize: number, temperature: number): Step {
  const { trace, parameters, logits, labels, finish } = forward(model, batchSize, true);
  const softened = div(logits, temperature);
  const target = trace.input('target', f32(...logits.shape));
  const loss = mean(add(softmaxCrossEntropy(softened, labels), sum(mul(target, softened), [1])));
  const raw = gradients(loss, tensorsOf(parameters));
  return finish.step({ ...named('gradient', finish.layouts().params, raw), loss });
}

/**
 * The optimizer alone, for a gradient from elsewhere: (params, slots, gradient, learningRate, step) → (params', slots'), or the direction
 * to descend along in place of params'.
 */
export function updateStep(
  { params, batch }: Step,
  transform: Transform,
  result: 'params' | 'direction' = 'params',
): Step {
  const trace = new Trace();
  const row = (name: string) => params.map((tensor) => trace.input(`${name}/${tensor.name}`, f32(...tensor.shape)));
  const parameters = row('params').map((tensor, i) => ({ tensor, kind: params[i]!.kind }));
  const update = {
    updates: row('gradient'),
    parameters,
    slots: transform.slots.map(row),
    learningRate: trace.input('learningRate', f32()),
    step: trace.input('step', f32()),
  };
  const changed = transform.apply(update);
  const outputs = [
    result === 'direction'
      ? named('direction', params, changed.updates)
      : named("params'", params, descend({ ...update, updates: changed.updates })),
    ...transform.slots.map((slot, i) => named(`${slot}'`, params, changed.slots[i]!)),
  ];
  return { program: trace.program(Object.assign({}, ...outputs)), params, state: [], slots: transform.slots, batch };
}

/**
 * (params, state, x, labels) → (losses, correct), one number for each label, so that a batch that is only partly filled
 * can be counted in part; `state'` as well when the model changes its state outside training.
 */
export function evalStep(model: Model, batchSize: number, k = 1): Step {
  const { losses, correct, finish } = forward(model, batchSize, false);
  return finish.step({ ...finish.nextState(), losses, ...present({ correct: correct(k) }) });
}

const total = (x: Tensor | undefined) => x && sum(x);

/** Without what there is not. */
const present = (outputs: Readonly<Record<string, Tensor | undefined>>) =>
  Object.fromEntries(Object.entries(outputs).filter((entry): entry is [string, Tensor] => entry[1] !== undefined));

const tensorsOf = (parameters: readonly { readonly tensor: Tensor }[]) => parameters.map(({ tensor }) => tensor);

const named = (row: string, layout: Layout, tensors: readonly Tensor[]) =>
  Object.fromEntries(layout.map(({ name }, i) => [`${row}/${name}`, tensors[i]!]));

function forward(model: Model, batchSize: number, training: boolean) {
  const trace = new Trace();
  const batch = model.batch(batchSize);
  const key = training ? trace.input('key', i32(2)) : undefined;
  const x = trace.input('x', batch.x);
  const labels = reshape(trace.input('labels', batch.labels), [sizeOf(batch.labels.shape)]);
  const { context, parameters, layouts, nextState } = tracing(trace, training, key);
  const logits = model.forward(context, x);
  const { losses, correct } = lossesOf(model.task ?? 'classification', logits, labels);
  const step = (outputs: Record<string, Tensor>, slots: readonly string[] = []): Step => ({
    program: trace.program(outputs),
    ...layouts(),
    slots,
    batch,
  });
  return {
    trace,
    parameters,
    logits,
    labels,
    losses,
    correct,
    finish: { layouts, nextState, step },
  };
}

/** The rows of a step by name, as it reads and writes them. */
export function rowsOf(step: Step): Readonly<Record<string, Layout>> {
  const slots = step.slots.flatMap((slot) => [slot, `${slot}'`]);
  const likeParams = ['params', "params'", 'gradient', 'direction', ...slots].map((row) => [row, step.params] as const);
  const rows = Object.fromEntries([...likeParams, ['state', step.state], ["state'", step.state]]);
  const used = new Set([...step.program.inputs, ...step.program.outputs].map(({ name }) => name.split('/')[0]));
  return Object.fromEntries(Object.entries(rows).filter(([row]) => used.has(row)));
}

/** Memory for a step: rows are cut into views of their tensors, everything else is passed on. */
export function stepBuffers(step: Step, given: Buffers): Buffers {
  const rows = rowsOf(step);
  const cut = Object.entries(given).map(([name, memory]): Record<string, Numbers> => {
    const layout = rows[name];
    // A model without state has an empty row, which callers may pass all the same.
    if (layout === undefined) return memory.length === 0 ? {} : { [name]: memory };
    if (!(memory instanceof Float32Array) || memory.length !== rowSize(layout))
      throw new UserError(`row ${name} has ${rowSize(layout)} float32 elements, got ${memory.length}`);
    return views(memory, layout, name);
  });
  return Object.assign({}, ...cut);
}

/** New memory for everything a step reads or writes, all zero. */
export function allocate(step: Step): Record<string, Float32Array> & { x: Numbers; labels: Numbers; key: Int32Array } {
  const rows = rowsOf(step);
  const single = [...step.program.inputs, ...step.program.outputs].filter(({ name }) => !(name.split('/')[0]! in rows));
  return Object.fromEntries([
    ...Object.entries(rows).map(([row, layout]) => [row, new Float32Array(rowSize(layout))]),
    ...single.map(({ name, value }) => {
      const { dtype, shape } = step.program.types[value]!;
      return [name, dtype === 'float32' ? new Float32Array(sizeOf(shape)) : new Int32Array(sizeOf(shape))];
    }),
  ]);
}
