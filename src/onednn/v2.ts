import type { Shape } from '../tensor/program.ts';
import { argument, commonAlgorithms, dataType, formatTag, propagations, query } from './constants.ts';
import type { Algorithm, Binding, Dialect, NormFlag, Table } from './dialect.ts';
import { dimensions, type Format, given } from './format.ts';

/**
 * oneDNN 2.6 and 2.7: memory and operations are described by structures, made here. Those of memory have `descriptionBytes`; of
 * those of operations no more is known than that they fit into `operationBytes`.
 */
const signatures = {
  dnnl_memory_desc_init_by_tag: 'int(void *, int, void *, int, int)',
  dnnl_memory_desc_init_by_strides: 'int(void *, int, void *, int, void *)',
  dnnl_memory_desc_init_submemory: 'int(void *, void *, void *, void *)',
  dnnl_post_ops_append_eltwise: 'int(uint64_t, float, int, float, float)',
  dnnl_post_ops_append_binary: 'int(uint64_t, int, void *)',
  dnnl_post_ops_append_sum: 'int(uint64_t, float)',
  dnnl_primitive_desc_create: 'int(void *, void *, uint64_t, uint64_t, uint64_t)',
  dnnl_primitive_desc_query_md: 'void *(uint64_t, int, int)',
  dnnl_concat_primitive_desc_create: 'int(void *, void *, int, int, void *, uint64_t, uint64_t)',
  dnnl_sum_primitive_desc_create: 'int(void *, void *, int, void *, void *, uint64_t, uint64_t)',
  dnnl_convolution_forward_desc_init: 'int(void *, int, int, void *, void *, void *, void *, void *, void *, void *)',
  dnnl_convolution_backward_data_desc_init: 'int(void *, int, void *, void *, void *, void *, void *, void *)',
  dnnl_convolution_backward_weights_desc_init:
    'int(void *, int, void *, void *, void *, void *, void *, void *, void *)',
  dnnl_pooling_forward_desc_init: 'int(void *, int, int, void *, void *, void *, void *, void *, void *)',
  dnnl_pooling_backward_desc_init: 'int(void *, int, void *, void *, void *, void *, void *, void *)',
  dnnl_batch_normalization_forward_desc_init: 'int(void *, int, void *, float, uint)',
  dnnl_batch_normalization_backward_desc_init: 'int(void *, int, void *, void *, float, uint)',
  dnnl_layer_normalization_forward_desc_init: 'int(void *, int, void *, void *, float, uint)',
  dnnl_layer_normalization_backward_desc_init: 'int(void *, int, void *, void *, void *, float, uint)',
  dnnl_eltwise_forward_desc_init: 'int(void *, int, int, void *, float, float)',
  dnnl_eltwise_backward_desc_init: 'int(void *, int, void *, void *, float, float)',
  dnnl_binary_desc_init: 'int(void *, int, void *, void *, void *)',
  dnnl_reduction_desc_init: 'int(void *, int, void *, void *, float, float)',
  dnnl_matmul_desc_init: 'int(void *, void *, void *, void *, void *)',
} as const;
type Name = keyof typeof signatures;

/** sizeof(dnnl_memory_desc_t) */
const descriptionBytes = 696;
/** More than any operation description takes; the largest in use, a convolution's, has 5,976 bytes. */
const operationBytes = 16384;

/** dnnl_aBcd8b, dnnl_aBcd16b */
const blockedTag = { 8: 93, 16: 69 } as const;

const algorithms: Readonly<Record<Algorithm, number>> = {
  ...commonAlgorithms,
  relu: 0x1f,
  gelu: 0x30,
  tanh: 0x2f,
  sqrt: 0x6f,
  linear: 0x7f,
  sigmoid: 0xaf,
  exp: 0xbf,
};
const normFlags: Readonly<Record<NormFlag, number>> = { givenStatistics: 1, relu: 4, scale: 8, shift: 16 };
const bits = (flags: readonly NormFlag[]) => flags.reduce((all, flag) => all | normFlags[flag], 0);

/** The number of axes and their sizes come first in the structure. */
function formatOf(description: Buffer): Format {
  const axes = description.readInt32LE(0);
  const shape = Array.from({ length: axes }, (_, axis) => Number(description.readBigInt64LE(8 + 8 * axis)));
  return { shape, description };
}

const joined = (formats: readonly Format[]) => Buffer.concat(formats.map(({ description }) => description as Buffer));

/** Those of a concatenation and of a sum are made at once, all others by way of a structure that is filled. */
const operations: Table<Name> = {
  concat: ({ sources, axis, dst }) => [
    'dnnl_concat_primitive_desc_create',
    [dst, sources.length, axis, joined(sources)],
  ],
  sum: ({ sources, scales, dst }) => [
    'dnnl_sum_primitive_desc_create',
    [dst, sources.length, Float32Array.from(scales), joined(sources)],
  ],
  binary: ({ algorithm, a, b, dst }) => ['dnnl_binary_desc_init', [algorithms[algorithm], a, b, dst]],
  eltwise: ({ algorithm, data }) => [
    'dnnl_eltwise_forward_desc_init',
    [propagations.training, algorithms[algorithm], data, 0, 0],
  ],
  eltwiseBackward: ({ algorithm, data }) => [
    'dnnl_eltwise_backward_desc_init',
    [algorithms[algorithm], data, data, 0, 0],
  ],
  matmul: ({ src, weights, bias, dst }) => ['dnnl_matmul_desc_init', [src, weights, bias, dst]],
  reduction: ({ src, dst }) => ['dnnl_reduction_desc_init', [algorithms.sum, src, dst, 0, 0]],
  convolution: ({ src, weights, bias, dst, stride, padding }) => [
    'dnnl_convolution_forward_desc_init',
    [propagations.training, algorithms.convolution, src, weights, bias, dst, stride, padding, padding],
  ],
  convolutionBackwardData: ({ diffSrc, weights, diffDst, stride, padding }) => [
    'dnnl_convolution_backward_data_desc_init',
    [algorithms.convolution, diffSrc, weights, diffDst, stride, padding, padding],
  ],
  convolutionBackwardWeights: ({ src, diffWeights, diffBias, diffDst, stride, padding }) => [
    'dnnl_convolution_backward_weights_desc_init',
    [algorithms.convolution, src, diffWeights, diffBias, diffDst, stride, padding, padding],
  ],
  pooling: ({ algorithm, src, dst, stride, kernel, padding }) => [
    'dnnl_pooling_forward_desc_init',
    [propagations.training, algorithms[algorithm], src, dst, stride, kernel, padding, padding],
  ],
  poolingBackward: ({ algorithm, diffSrc, diffDst, stride, kernel, padding }) => [
    'dnnl_pooling_backward_desc_init',
    [algorithms[algorithm], diffSrc, diffDst, stride, kernel, padding, padding],
  ],
  batchNorm: ({ propagation, data, epsilon, flags }) => [
    'dnnl_batch_normalization_forward_desc_init',
    [propagations[propagation], data, epsilon, bits(flags)],
  ],
  batchNormBackward: ({ propagation, data, epsilon, flags }) => [
    'dnnl_batch_normalization_backward_desc_init',
    [propagations[propagation], data, data, epsilon, bits(flags)],
  ],
  layerNorm: ({ propagation, data, statistics, epsilon, flags }) => [
    'dnnl_layer_normalization_forward_desc_init',
    [propagations[propagation], data, statistics, epsilon, bits(flags)],
  ],
  layerNormBackward: ({ propagation, data, statistics, epsilon, flags }) => [
    'dnnl_layer_normalization_backward_desc_init',
    [propagations[propagation], data, data, statistics, epsilon, bits(flags)],
  ],
};

export function version2({ engine, bind, copyOf }: Binding): Dialect {
  const { call, handle, raw } = bind(signatures);
  const tagged = (shape: Shape, tag: number): Format => {
    const description = Buffer.alloc(descriptionBytes);
    const init = 'dnnl_memory_desc_init_by_tag';
    call(init, description, shape.length, dimensions(shape), dataType.float32, tag);
    return formatOf(description);
  };
  return {
    strided(shape, strides) {
      const description = Buffer.alloc(descriptionBytes);
      const [sizes, steps] = [dimensions(shape), dimensions(strides)];
      call('dnnl_memory_desc_init_by_strides', description, shape.length, sizes, dataType.float32, steps);
      return formatOf(description);
    },
    any: (shape) => tagged(shape, formatTag.any),
    blocked: (shape, width) => tagged(shape, blockedTag[width]),
    part(whole, shape, start) {
      const description = Buffer.alloc(descriptionBytes);
      const sub = raw.dnnl_memory_desc_init_submemory;
      const status = sub(description, whole.description, dimensions(shape), dimensions(start));
      return status === 0 ? formatOf(description) : undefined;
    },
    wanted: (description, what) =>
      formatOf(copyOf(raw.dnnl_primitive_desc_query_md(description, query[what], 0), descriptionBytes)),
    release: () => {},

    describe(kind, operation, attributes, hint = 0) {
      const [name, values] = operations[kind](operation);
      const args = values.map(given);
      if (kind === 'concat' || kind === 'sum') return handle(name, ...args, attributes, engine);
      const structure = Buffer.alloc(operationBytes);
      call(name, structure, ...args);
      return handle('dnnl_primitive_desc_create', structure, attributes, engine, hint);
    },
    append(chain, post) {
      if (post.kind === 'sum') call('dnnl_post_ops_append_sum', chain, 1);
      else if (post.kind === 'binary')
        call('dnnl_post_ops_append_binary', chain, algorithms[post.algorithm], given(post.operand.format));
      else {
        const { algorithm, alpha = 0, beta = 0 } = post;
        call('dnnl_post_ops_append_eltwise', chain, 1, algorithms[algorithm], alpha, beta);
      }
    },
    postArgument: (i) => (0x4000 * (i + 1)) | argument.src1,
  };
}
