import { Random } from '../../src/base/random.ts';
import { sizeOf } from '../../src/base/shape.ts';
import { adam, chain, clipByGlobalNorm, descend, momentum, weightDecay } from '../../src/optim/transform.ts';
import type { Backend, Numbers } from '../../src/tensor/backend.ts';
import { gradients } from '../../src/tensor/gradient.ts';
import {
  add,
  avgPool,
  batchNorm,
  concat,
  conv2d,
  dropout,
  embedding,
  flatten,
  gelu,
  globalAvgPool,
  groupNorm,
  layerNorm,
  lstm,
  matmul,
  maxPool,
  mean,
  mul,
  pad,
  relu,
  reshape,
  sigmoid,
  slice,
  softmaxCrossEntropy,
  squaredNorm,
  sub,
  tanh,
  topKCorrect,
  transpose,
} from '../../src/tensor/operations.ts';
import { f32, i32, type Program, type Shape } from '../../src/tensor/program.ts';
import { type Tensor, Trace } from '../../src/tensor/trace.ts';

/** Random training steps with awkward sizes, and their inputs: a pure function of the seed. */
export function randomStep(seed: number): { readonly program: Program; readonly inputs: Record<string, Numbers> } {
  const random = new Random(seed, 'test');
  const below = (count: number) => random.below(count);
  const pick = <T>(choices: readonly T[]): T => choices[below(choices.length)]!;
  const trace = new Trace();
  const inputs: Record<string, Numbers> = {};
  const parameters: Tensor[] = [];
  const name = () => `in${Object.keys(inputs).length}`;

  const floats = (shape: Shape, low = -1, high = 1): Tensor => {
    const label = name();
    inputs[label] = Float32Array.from({ length: sizeOf(shape) }, () => low + (high - low) * random.uniform());
    return trace.input(label, f32(...shape));
  };
  const ints = (shape: Shape, bound: number): Tensor => {
    const label = name();
    inputs[label] = Int32Array.from({ length: sizeOf(shape) }, () => below(bound));
    return trace.input(label, i32(...shape));
  };
  const parameter = (shape: Shape, low?: number, high?: number): Tensor => {
    const tensor = floats(shape, low, high);
    parameters.push(tensor);
    return tensor;
  };
  const weight = (shape: Shape): Tensor => {
    const bound = 1.7 / Math.sqrt(sizeOf(shape.slice(1)));
    return parameter(shape, -bound, bound);
  };
  const size = () => pick([1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17, 20, 24, 31, 32, 33, 40]);
  const key = ints([2], 2 ** 31);

  /** One random layer on images. */
  function layer(x: Tensor): Tensor {
    const [n, channels, height, width] = x.shape as [number, number, number, number];
    const window = (most: number) => {
      const kernel = [1 + below(Math.min(most, height + 2)), 1 + below(Math.min(most, width + 2))] as const;
      const least = (k: number, side: number) => Math.max(0, Math.ceil((k - side) / 2));
      const padding = [least(kernel[0], height), least(kernel[1], width)] as const;
      return { kernel, stride: [1 + below(3), 1 + below(3)] as const, padding };
    };
    const convolved = (y: Tensor, filters: number): Tensor => {
      const { kernel, stride, padding } = window(5);
      const divisors = [1, 2, 3, 4].filter((g) => y.shape[1]! % g === 0 && filters % g === 0);
      const groups = below(4) === 0 ? pick([...divisors, ...(filters === y.shape[1] ? [filters] : [])]) : 1;
      const bias = below(2) === 0 ? parameter([filters]) : undefined;
      const wide = [padding[0] + below(2), padding[1] + below(2)] as const;
      return conv2d(y, weight([filters, y.shape[1]! / groups, ...kernel]), { stride, padding: wide, groups, bias });
    };
    const same = (filters: number): Tensor => {
      const kernel = pick([1, 3, 5]);
      return conv2d(x, weight([filters, channels, kernel, kernel]), { padding: (kernel - 1) / 2 });
    };
    const choices: (() => Tensor)[] = [
      () => convolved(x, size()),
      () => same(size()),
      () => add(x, same(channels)),
      () => sub(same(channels), mul(x, 0.5)),
      () => concat([x, same(pick([1, 4, 12, 16]))], 1),
      () => tanh(x),
      () => relu(x),
      () => gelu(x),
      () => sigmoid(x),
      () => dropout(x, key, 0.3),
      () => mul(x, floats([channels, 1, 1], 0.5, 1.5)),
      () => add(x, floats(x.shape)),
      () => pad(x, 1, below(3), 1 + below(2)),
      () => transpose(x, [0, 1, 3, 2]),
      () => {
        const start = below(channels);
        return slice(x, 1, start, 1 + below(channels - start));
      },
      () => {
        const { kernel, stride, padding } = window(3);
        const fits = padding.every((p, i) => 2 * p <= kernel[i]!);
        return fits ? pick([maxPool, avgPool])(x, kernel, { stride, padding }) : x;
      },
    ];
    const count = n * height * width;
    if (count >= 12) {
      const normal = () => batchNorm(x, parameter([channels], 0.5, 1.5), parameter([channels])).y;
      choices.push(
        normal,
        () => relu(normal()),
        () => relu(normal()),
        () => relu(add(normal(), x)),
      );
    }
    const groups = [1, 2, 4].filter((g) => channels % g === 0 && sizeOf(x.shape) / n / g >= 12);
    if (groups.length > 0)
      choices.push(() => groupNorm(x, parameter([channels], 0.5, 1.5), parameter([channels]), pick(groups)));
    return pick(choices)();
  }

  function images(): Tensor {
    let x = floats([pick([1, 2, 3, 5, 8]), pick([1, 1, 3, 3, size()]), 1 + below(12), 1 + below(12)]);
    for (let depth = 1 + below(6); depth > 0; depth--) if (sizeOf(x.shape) < 60_000) x = layer(x);
    return below(2) === 0 ? globalAvgPool(x) : flatten(x);
  }

  function vectors(): Tensor {
    let x = floats([pick([1, 2, 3, 5, 8, 17]), size()]);
    for (let depth = below(4); depth > 0; depth--) {
      const outputs = size();
      const bias = below(2) === 0 ? parameter([outputs]) : undefined;
      const y = matmul(x, weight([outputs, x.shape[1]!]), { transposeB: true, bias });
      x = pick([tanh, relu, gelu, sigmoid])(y);
      if (below(3) === 0 && x.shape[1]! >= 4)
        x = layerNorm(x, parameter([x.shape[1]!], 0.5, 1.5), parameter([x.shape[1]!]));
      if (below(3) === 0) x = dropout(x, key, 0.2);
    }
    return x;
  }

  function sequences(): Tensor {
    const [time, batch, words, hidden] = [1 + below(5), 1 + below(5), 2 + below(20), 1 + below(20)];
    let x = embedding(parameter([words, size()]), ints([time, batch], words));
    for (let layers = 1 + below(2); layers > 0; layers--) {
      const { y } = lstm(x, floats([batch, hidden]), floats([batch, hidden]), {
        weightInput: weight([4 * hidden, x.shape[2]!]),
        weightHidden: weight([4 * hidden, hidden]),
        biasInput: parameter([4 * hidden]),
        biasHidden: parameter([4 * hidden]),
      });
      x = y;
    }
    return reshape(x, [time * batch, hidden]);
  }

  const features = pick([images, images, images, vectors, sequences])();
  const classes = 2 + below(12);
  const [samples, width] = features.shape as [number, number];
  const logits = matmul(features, weight([classes, width]), { transposeB: true, bias: parameter([classes]) });
  const labels = ints([samples], classes);
  const loss = mean(softmaxCrossEntropy(logits, labels));
  const raw = gradients(loss, parameters);
  const transform = pick([
    chain(),
    momentum(0.9),
    chain(weightDecay(1e-2), momentum(0.9, { nesterov: true })),
    chain(clipByGlobalNorm(0.5), adam()),
  ]);
  const update = {
    updates: raw,
    parameters: parameters.map((tensor) => ({ tensor, kind: 'weight' as const })),
    slots: transform.slots.map(() => parameters.map(({ shape }) => floats(shape, 0, 0.1))),
    learningRate: floats([], 0.1, 0.2),
    step: floats([], 1, 3),
  };
  const changed = transform.apply(update);
  const named = (prefix: string, tensors: readonly Tensor[]) => tensors.map((tensor, i) => [`${prefix}${i}`, tensor]);
  const program = trace.program(
    Object.fromEntries([
      ['loss', loss],
      ['correct', topKCorrect(logits, labels, 1 + below(classes))],
      ['norm2', raw.map(squaredNorm).reduce((a, b) => add(a, b))],
      ...named('gradient', raw),
      ...named('next', descend({ ...update, updates: changed.updates })),
      ...changed.slots.flatMap((slot, s) => named(`slot${s}.`, slot)),
    ]),
  );
  return { program, inputs };
}

export async function outputsOf(
  backend: Backend,
  program: Program,
  inputs: Record<string, Numbers>,
): Promise<Record<string, Float32Array>> {
  const outputs = Object.fromEntries(
    program.outputs.map(({ name, value }) => [
      name,
      new Float32Array(sizeOf(program.types[value]!.shape)).fill(Number.NaN),
    ]),
  );
  const executable = await backend.compile(program);
  try {
    const run = executable.bind({ ...inputs, ...outputs });
    await run();
    // Again, on memory that is no longer all zero.
    for (const output of Object.values(outputs)) output.fill(Number.NaN);
    await run();
  } finally {
    await executable.close();
  }
  return outputs;
}

/**
 * The largest distance between two results, relative to the norm of the second and to what float32 can tell: gradients that cancel
 * are compared with all gradients together.
 */
export function apart(given: Record<string, Float32Array>, wanted: Record<string, Float32Array>): [string, number] {
  const norm = (values: Float32Array) => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
  const scale = Math.sqrt(wanted.norm2?.[0] ?? 1);
  let worst: [string, number] = ['', 0];
  for (const [name, values] of Object.entries(wanted)) {
    const distance = norm(given[name]!.map((value, i) => value - values[i]!));
    const relative = distance / (norm(values) + (name === 'loss' ? 0 : 0.01 * scale) + 1e-6);
    if (!(relative <= worst[1])) worst = [name, relative];
  }
  return worst;
}
