import {
  add,
  avgPool,
  batchMatmul,
  batchNorm,
  broadcast,
  concat,
  conv2d,
  div,
  dropout,
  embedding,
  full,
  gelu,
  groupNorm,
  layerNorm,
  literal,
  lstm,
  matmul,
  maximum,
  maxPool,
  minimum,
  mul,
  oneMinusPower,
  pad,
  relu,
  reshape,
  sigmoid,
  slice,
  softmax,
  softmaxCrossEntropy,
  split,
  sqrt,
  squaredNorm,
  sub,
  sum,
  tanh,
  topKCorrect,
  transpose,
} from '../../src/tensor/operations.ts';
import type { OpKind, Shape } from '../../src/tensor/program.ts';
import type { Tensor } from '../../src/tensor/trace.ts';

/** Declares the inputs of a case; their values are drawn from the given range. */
export interface Make {
  float(shape: Shape, low?: number, high?: number): Tensor;
  /** Whole numbers in [0, bound). */
  index(shape: Shape, bound: number): Tensor;
}

/** One use of an op: its outputs, the differentiable ones first (as many as `differentiable` says, else all). */
interface Case {
  readonly outputs: (make: Make) => readonly Tensor[];
  readonly differentiable?: number;
}

const one = (build: (make: Make) => Tensor): Case => ({ outputs: (make) => [build(make)] });

const image = [2, 3, 6, 5] as const;
const window = { kernel: [3, 2], stride: [2, 1], padding: [1, 1] } as const;
const strided = { stride: [2, 1], padding: [1, 0] } as const;

const lstmInputs = (make: Make) =>
  ({
    x: make.float([3, 2, 4]),
    h0: make.float([2, 5]),
    c0: make.float([2, 5]),
    weights: {
      weightInput: make.float([20, 4]),
      weightHidden: make.float([20, 5]),
      biasInput: make.float([20]),
      biasHidden: make.float([20]),
    },
  }) as const;

/** One row for each op: without it this file does not compile. Every row is run forward and, where there is one, backward. */
export const cases: { readonly [K in OpKind]: Readonly<Record<string, Case>> } = {
  constant: {
    filled: one((make) => full(make.float([1]), [2, 3], 0.25)),
  },
  literal: {
    alone: one((make) => literal(make.float([1]), [2, 2], [1, -0.5, 0, 1e9])),
    'as a factor': one((make) => mul(make.float([4, 2, 3]), literal(make.float([1]), [2, 1], [0, 2]))),
  },

  add: {
    same: one((make) => add(make.float([2, 3]), make.float([2, 3]))),
    broadcast: one((make) => add(make.float([2, 1, 3]), make.float([4, 1]))),
    number: one((make) => add(3, make.float([2]))),
    twice: one((make) => {
      const x = make.float([3]);
      return add(x, x);
    }),
  },
  sub: { broadcast: one((make) => sub(make.float([3]), make.float([2, 3]))) },
  mul: {
    broadcast: one((make) => mul(make.float([2, 3]), make.float([]))),
    channel: one((make) => mul(make.float([2, 3, 4]), make.float([3, 1]))),
  },
  div: { broadcast: one((make) => div(make.float([2, 3]), make.float([2, 1], 0.5, 2))) },
  minimum: { numbers: one((make) => minimum(make.float([2, 3]), 0.25)) },
  maximum: { numbers: one((make) => maximum(make.float([2, 3]), make.float([3]))) },
  sqrt: { positive: one((make) => sqrt(make.float([2, 3], 0.1, 2))) },
  relu: { both: one((make) => relu(make.float([3, 7]))) },
  reluGrad: {
    both: one((make) => {
      const [dy, x] = [make.float([3, 7]), make.float([3, 7])];
      return dy.trace.emit('reluGrad', [dy, relu(x)], {})[0];
    }),
  },
  tanh: { both: one((make) => tanh(make.float([3, 7], -3, 3))) },
  tanhGrad: {
    both: one((make) => {
      const dy = make.float([3, 7]);
      return dy.trace.emit('tanhGrad', [dy, make.float([3, 7])], {})[0];
    }),
  },
  sigmoid: { both: one((make) => sigmoid(make.float([3, 7], -5, 5))) },
  sigmoidGrad: {
    both: one((make) => {
      const dy = make.float([3, 7]);
      return dy.trace.emit('sigmoidGrad', [dy, make.float([3, 7], 0, 1)], {})[0];
    }),
  },
  gelu: { both: one((make) => gelu(make.float([3, 7], -4, 4))) },
  geluGrad: {
    both: one((make) => {
      const dy = make.float([3, 7]);
      return dy.trace.emit('geluGrad', [dy, make.float([3, 7], -4, 4)], {})[0];
    }),
  },
  oneMinusPower: {
    'first steps': one((make) => oneMinusPower(0.999, make.float([4], 0.5, 5))),
  },

  reshape: { merge: one((make) => reshape(make.float([2, 3, 4]), [6, 4])) },
  transpose: { three: one((make) => transpose(make.float([2, 3, 4]), [2, 0, 1])) },
  broadcast: { leading: one((make) => broadcast(make.float([3, 1]), [2, 3, 4])) },
  concat: {
    channels: one((make) => concat([make.float([2, 3, 2]), make.float([2, 1, 2]), make.float([2, 4, 2])], 1)),
    'itself twice': one((make) => {
      const x = make.float([2, 3]);
      return concat([x, x], 0);
    }),
  },
  slice: { middle: one((make) => slice(make.float([2, 5, 3]), 1, 1, 3)) },
  split: {
    'first axis': { outputs: (make) => split(make.float([5, 3]), 0, [2, 1, 2]) },
    'middle axis': { outputs: (make) => split(make.float([2, 6, 3]), 1, [1, 3, 2]) },
    'one part used': one((make) => mul(split(make.float([3, 2, 4]), 0, [1, 1, 1])[1]!, make.float([2, 4]))),
    'of a product': one((make) => {
      const parts = split(reshape(matmul(make.float([4, 3]), make.float([3, 6])), [4, 3, 2]), 1, [1, 2]);
      return concat([parts[1]!, parts[0]!], 1);
    }),
  },
  pad: { both: one((make) => pad(make.float([2, 3, 2]), 1, 1, 2)) },

  sum: {
    all: one((make) => sum(make.float([2, 3]))),
    some: one((make) => sum(make.float([2, 3, 4]), [0, 2])),
    kept: one((make) => sum(make.float([2, 3, 4]), [1], true)),
  },
  squaredNorm: { three: one((make) => squaredNorm(make.float([2, 3, 4]))) },

  matmul: {
    plain: one((make) => matmul(make.float([3, 4]), make.float([4, 5]))),
    left: one((make) => matmul(make.float([4, 3]), make.float([4, 5]), { transposeA: true })),
    'right, bias': one((make) =>
      matmul(make.float([3, 4]), make.float([5, 4]), { transposeB: true, bias: make.float([5]) }),
    ),
    both: one((make) => matmul(make.float([4, 3]), make.float([5, 4]), { transposeA: true, transposeB: true })),
    'left, bias': one((make) =>
      matmul(make.float([4, 3]), make.float([4, 5]), { transposeA: true, bias: make.float([5]) }),
    ),
  },
  batchMatmul: {
    plain: one((make) => batchMatmul(make.float([2, 3, 4]), make.float([2, 4, 5]))),
    left: one((make) => batchMatmul(make.float([2, 4, 3]), make.float([2, 4, 5]), { transposeA: true })),
    'right, two axes before': one((make) =>
      batchMatmul(make.float([2, 3, 3, 4]), make.float([2, 3, 5, 4]), { transposeB: true }),
    ),
    both: one((make) =>
      batchMatmul(make.float([1, 4, 3]), make.float([1, 5, 4]), { transposeA: true, transposeB: true }),
    ),
    'of parts in another order': one((make) => {
      const [q, k, v] = split(transpose(reshape(make.float([6, 12]), [3, 2, 3, 2, 2]), [2, 1, 3, 0, 4]), 0, [1, 1, 1]);
      const scores = batchMatmul(q!, k!, { transposeB: true });
      return transpose(batchMatmul(softmax(scores, true), v!), [0, 3, 1, 2, 4]);
    }),
  },
  softmax: {
    rows: one((make) => softmax(make.float([3, 7], -4, 4))),
    large: one((make) => softmax(make.float([3, 2, 5], 296, 304))),
    causal: one((make) => softmax(make.float([2, 3, 7, 7], -4, 4), true)),
  },
  softmaxGrad: {
    rows: one((make) => {
      const dy = make.float([3, 7]);
      return dy.trace.emit('softmaxGrad', [dy, softmax(make.float([3, 7]))], { causal: false })[0];
    }),
    causal: one((make) => {
      const dy = make.float([2, 6, 6]);
      return dy.trace.emit('softmaxGrad', [dy, softmax(make.float([2, 6, 6]), true)], { causal: true })[0];
    }),
  },
  conv2d: {
    pointwise: one((make) => conv2d(make.float(image), make.float([4, 3, 1, 1]))),
    same: one((make) => conv2d(make.float(image), make.float([4, 3, 3, 3]), { padding: 1, bias: make.float([4]) })),
    valid: one((make) => conv2d(make.float(image), make.float([2, 3, 3, 2]))),
    strided: one((make) => conv2d(make.float(image), make.float([4, 3, 3, 3]), strided)),
    halved: one((make) => conv2d(make.float([2, 3, 6, 4]), make.float([4, 3, 3, 3]), { stride: 2, padding: 1 })),
    'halved, odd': one((make) => conv2d(make.float([2, 3, 5, 7]), make.float([4, 3, 3, 3]), { stride: 2, padding: 1 })),
    'pointwise halved': one((make) => conv2d(make.float([2, 3, 6, 4]), make.float([4, 3, 1, 1]), { stride: 2 })),
    'pointwise halved, odd': one((make) => conv2d(make.float([2, 3, 5, 7]), make.float([4, 3, 1, 1]), { stride: 2 })),
    'stem of 7': one((make) => conv2d(make.float([1, 3, 10, 10]), make.float([2, 3, 7, 7]), { stride: 2, padding: 3 })),
    'many channels': one((make) => conv2d(make.float([1, 17, 4, 4]), make.float([18, 17, 3, 3]), { padding: 1 })),
    'blocks of channels': one((make) => conv2d(make.float([2, 16, 4, 4]), make.float([32, 16, 3, 3]), { padding: 1 })),
    'blocks, halved': one((make) =>
      conv2d(make.float([1, 16, 4, 4]), make.float([16, 16, 3, 3]), { stride: 2, padding: 1 }),
    ),
    'a batch of 12': one((make) => conv2d(make.float([12, 3, 4, 3]), make.float([2, 3, 3, 3]), { padding: 1 })),
    'a batch of 16, halved': one((make) =>
      conv2d(make.float([16, 2, 4, 6]), make.float([5, 2, 3, 3]), { stride: 2, padding: 1 }),
    ),
    'a batch of 17, odd': one((make) =>
      conv2d(make.float([17, 2, 5, 4]), make.float([3, 2, 3, 2]), { stride: [2, 1], padding: [0, 1] }),
    ),
    grouped: one((make) =>
      conv2d(make.float([2, 4, 5, 5]), make.float([6, 2, 3, 3]), { groups: 2, padding: 1, bias: make.float([6]) }),
    ),
    depthwise: one((make) => conv2d(make.float([2, 4, 5, 5]), make.float([4, 1, 3, 3]), { groups: 4, stride: 2 })),
  },
  convGradInput: {
    strided: one((make) => {
      const dy = make.float([2, 4, 3, 3]);
      const attributes = { ...strided, groups: 1, shape: image };
      return dy.trace.emit('convGradInput', [dy, make.float([4, 3, 3, 3])], attributes)[0];
    }),
  },
  convGradWeight: {
    strided: one((make) => {
      const dy = make.float([2, 4, 3, 3]);
      const attributes = { ...strided, groups: 1, shape: [4, 3, 3, 3] };
      return dy.trace.emit('convGradWeight', [dy, make.float(image)], attributes)[0];
    }),
  },

  maxPool: {
    halves: one((make) => maxPool(make.float([2, 3, 6, 4]), 2)),
    'halves, odd': one((make) => maxPool(make.float([2, 3, 5, 7]), 2)),
    overlapping: one((make) => maxPool(make.float(image), 3, { stride: 2, padding: 1 })),
    uneven: one((make) => maxPool(make.float(image), window.kernel, window)),
  },
  maxPoolGrad: {
    halves: one((make) => {
      const [dy, x] = [make.float([2, 3, 3, 2]), make.float([2, 3, 6, 4])];
      const attributes = { kernel: [2, 2], stride: [2, 2], padding: [0, 0] } as const;
      return dy.trace.emit('maxPoolGrad', [dy, x, maxPool(x, 2)], attributes)[0];
    }),
    'ties go to the first': one((make) => {
      const [dy, x] = [make.float([2, 3, 3, 2]), mul(make.float([2, 3, 6, 4]), 0)];
      const attributes = { kernel: [2, 2], stride: [2, 2], padding: [0, 0] } as const;
      return dy.trace.emit('maxPoolGrad', [dy, x, maxPool(x, 2)], attributes)[0];
    }),
  },
  avgPool: {
    halves: one((make) => avgPool(make.float([2, 3, 6, 4]), 2)),
    uneven: one((make) => avgPool(make.float(image), window.kernel, window)),
  },
  avgPoolGrad: {
    uneven: one((make) => {
      const dy = make.float([2, 3, 3, 6]);
      return dy.trace.emit('avgPoolGrad', [dy], { ...window, shape: image })[0];
    }),
  },

  batchNorm: {
    images: {
      outputs: (make) => Object.values(batchNorm(make.float(image, -1, 3), make.float([3], 0.5, 2), make.float([3]))),
      differentiable: 1,
    },
    vectors: {
      outputs: (make) => Object.values(batchNorm(make.float([7, 4]), make.float([4], 0.5, 2), make.float([4]))),
      differentiable: 1,
    },
    // Two nodes with the same parameters must not share their statistics.
    'shared parameters': one((make) => {
      const [scale, shift] = [make.float([3], 0.5, 2), make.float([3])];
      const first = batchNorm(make.float(image), scale, shift).y;
      return batchNorm(add(first, make.float(image)), scale, shift).y;
    }),
  },
  batchNormGrad: {
    images: {
      outputs: (make) => {
        const dy = make.float(image);
        const statistics = [make.float([3]), make.float([3], 0.5, 2)] as const;
        return dy.trace.emit('batchNormGrad', [dy, make.float(image), make.float([3]), ...statistics], {
          epsilon: 1e-5,
        });
      },
    },
  },
  batchNormInference: {
    images: one((make) => {
      const x = make.float(image);
      const parameters = [make.float([3]), make.float([3]), make.float([3]), make.float([3], 0.5, 2)] as const;
      return x.trace.emit('batchNormInference', [x, ...parameters], { epsilon: 1e-5 })[0];
    }),
  },
  layerNorm: {
    sequences: {
      outputs: (make) => {
        const x = make.float([2, 3, 6], -1, 3);
        return x.trace.emit('layerNorm', [x, make.float([6], 0.5, 2), make.float([6])], { epsilon: 1e-5 });
      },
      differentiable: 1,
    },
    function: one((make) => layerNorm(make.float([2, 6]), make.float([6]), make.float([6]))),
  },
  layerNormGrad: {
    sequences: {
      outputs: (make) => {
        const dy = make.float([2, 3, 6]);
        const statistics = [make.float([2, 3, 1]), make.float([2, 3, 1], 0.5, 2)] as const;
        return dy.trace.emit('layerNormGrad', [dy, make.float([2, 3, 6]), make.float([6]), ...statistics], {});
      },
    },
  },
  groupNorm: {
    images: {
      outputs: (make) => {
        const x = make.float([2, 4, 3, 3], -1, 3);
        const parameters = [make.float([4], 0.5, 2), make.float([4])] as const;
        return x.trace.emit('groupNorm', [x, ...parameters], { epsilon: 1e-5, groups: 2 });
      },
      differentiable: 1,
    },
    function: one((make) => groupNorm(make.float([2, 4, 3, 3]), make.float([4]), make.float([4]), 4)),
  },
  groupNormGrad: {
    images: {
      outputs: (make) => {
        const [dy, x] = [make.float([2, 4, 3, 3]), make.float([2, 4, 3, 3])];
        const statistics = [make.float([2, 2]), make.float([2, 2], 0.5, 2)] as const;
        return dy.trace.emit('groupNormGrad', [dy, x, make.float([4]), ...statistics], {});
      },
    },
  },

  dropoutMask: {
    'two masks': {
      outputs: (make) => {
        const [x, key] = [make.float([5, 40]), make.index([2], 2 ** 31)];
        return [dropout(x, key, 0.4), dropout(x, key, 0.1)];
      },
    },
  },

  embedding: { tokens: one((make) => embedding(make.float([5, 4]), make.index([3, 6], 5))) },
  embeddingGrad: {
    repeated: one((make) => {
      const dy = make.float([3, 6, 4]);
      return dy.trace.emit('embeddingGrad', [dy, make.index([3, 6], 5)], { rows: 5 })[0];
    }),
  },

  softmaxCrossEntropy: {
    samples: {
      outputs: (make) => {
        const logits = make.float([6, 5], -4, 4);
        return logits.trace.emit('softmaxCrossEntropy', [logits, make.index([6], 5)], {});
      },
      differentiable: 1,
    },
    'large logits': one((make) => softmaxCrossEntropy(make.float([6, 5], -300, 300), make.index([6], 5))),
  },
  softmaxCrossEntropyGrad: {
    samples: one((make) => {
      const dloss = make.float([6]);
      return dloss.trace.emit('softmaxCrossEntropyGrad', [dloss, make.float([6, 5], -3, 0), make.index([6], 5)], {})[0];
    }),
  },
  topKCorrect: {
    first: one((make) => topKCorrect(make.float([40, 5]), make.index([40], 5))),
    'first three': one((make) => topKCorrect(make.float([40, 5]), make.index([40], 5), 3)),
    // A model with equal logits must not look perfect.
    ties: one((make) => topKCorrect(mul(make.float([40, 5]), 0), make.index([40], 5), 2)),
  },

  lstm: {
    layer: {
      outputs: (make) => {
        const { x, h0, c0, weights } = lstmInputs(make);
        const { weightInput, weightHidden, biasInput, biasHidden } = weights;
        return x.trace.emit('lstm', [x, h0, c0, weightInput, weightHidden, biasInput, biasHidden], {});
      },
      differentiable: 3,
    },
    'only the outputs': one((make) => {
      const { x, h0, c0, weights } = lstmInputs(make);
      return lstm(x, h0, c0, weights).y;
    }),
    'two layers': one((make) => {
      const { x, h0, c0, weights } = lstmInputs(make);
      const { y } = lstm(x, h0, c0, weights);
      const second = { ...weights, weightInput: make.float([20, 5]) };
      return lstm(y, h0, c0, second).y;
    }),
  },
  lstmGrad: {
    layer: {
      outputs: (make) => {
        const { x, h0, c0, weights } = lstmInputs(make);
        const { weightInput, weightHidden, biasInput, biasHidden } = weights;
        const [dy, dh, dc] = [make.float([3, 2, 5]), make.float([2, 5]), make.float([2, 5])];
        const layer = [x, h0, c0, weightInput, weightHidden] as const;
        const [y, , , gates, cells] = x.trace.emit('lstm', [...layer, biasInput, biasHidden], {});
        return x.trace.emit('lstmGrad', [dy, dh, dc, ...layer, y, gates, cells], {});
      },
    },
  },
};
