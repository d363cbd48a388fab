import type { Shape } from '../tensor/program.ts';
import { argument, commonAlgorithms, dataType, formatTag, propagations, query } from './constants.ts';
import type { Algorithm, Binding, Dialect, NormFlag, Table } from './dialect.ts';
import { dimensions, type Format, given } from './format.ts';

/** oneDNN from 3.1 on: memory is described by handles, and one function makes the description of a primitive. */
const signatures = {
  dnnl_memory_desc_create_with_tag: 'int(void *, int, void *, int, int)',
  dnnl_memory_desc_create_with_strides: 'int(void *, int, void *, int, void *)',
  dnnl_memory_desc_create_submemory: 'int(void *, uint64_t, void *, void *)',
  dnnl_memory_desc_clone: 'int(void *, void *)',
  dnnl_memory_desc_query: 'int(uint64_t, int, void *)',
  dnnl_memory_desc_destroy: 'int(uint64_t)',
  dnnl_post_ops_append_eltwise: 'int(uint64_t, int, float, float)',
  dnnl_post_ops_append_binary: 'int(uint64_t, int, void *)',
  dnnl_post_ops_append_sum: 'int(uint64_t, float, int32_t, int)',
  dnnl_primitive_desc_query_md: 'void *(uint64_t, int, int)',
  dnnl_concat_primitive_desc_create: 'int(void *, uint64_t, void *, int, int, void *, uint64_t)',
  dnnl_sum_primitive_desc_create: 'int(void *, uint64_t, void *, int, void *, void *, uint64_t)',
  dnnl_convolution_forward_primitive_desc_create:
    'int(void *, uint64_t, int, int, void *, void *, void *, void *, void *, void *, void *, void *, uint64_t)',
  dnnl_convolution_backward_data_primitive_desc_create:
    'int(void *, uint64_t, int, void *, void *, void *, void *, void *, void *, void *, uint64_t, uint64_t)',
  dnnl_convolution_backward_weights_primitive_desc_create:
    'int(void *, uint64_t, int, void *, void *, void *, void *, void *, void *, void *, void *, uint64_t, uint64_t)',
  dnnl_pooling_forward_primitive_desc_create:
    'int(void *, uint64_t, int, int, void *, void *, void *, void *, void *, void *, void *, uint64_t)',
  dnnl_pooling_backward_primitive_desc_create:
    'int(void *, uint64_t, int, void *, void *, void *, void *, void *, void *, void *, uint64_t, uint64_t)',
  dnnl_batch_normalization_forward_primitive_desc_create:
    'int(void *, uint64_t, int, void *, void *, float, uint, uint64_t)',
  dnnl_batch_normalization_backward_primitive_desc_create:
    'int(void *, uint64_t, int, void *, void *, void *, float, uint, uint64_t, uint64_t)',
  dnnl_layer_normalization_forward_primitive_desc_create:
    'int(void *, uint64_t, int, void *, void *, void *, float, uint, uint64_t)',
  dnnl_layer_normalization_backward_primitive_desc_create:
    'int(void *, uint64_t, int, void *, void *, void *, void *, float, uint, uint64_t, uint64_t)',
  dnnl_eltwise_forward_primitive_desc_create: 'int(void *, uint64_t, int, int, void *, void *, float, float, uint64_t)',
  dnnl_eltwise_backward_primitive_desc_create:
    'int(void *, uint64_t, int, void *, void *, void *, float, float, uint64_t, uint64_t)',
  dnnl_binary_primitive_desc_create: 'int(void *, uint64_t, int, void *, void *, void *, uint64_t)',
  dnnl_reduction_primitive_desc_create: 'int(void *, uint64_t, int, void *, void *, float, float, uint64_t)',
  dnnl_matmul_primitive_desc_create: 'int(void *, uint64_t, void *, void *, void *, void *, uint64_t)',
} as const;
type Name = keyof typeof signatures;

const formatQuery = { axes: 256, sizes: 257 } as const;

/** dnnl_aBcd8b, dnnl_aBcd16b */
const blockedTag = { 8: 102, 16: 78 } as const;

const algorithms: Readonly<Record<Algorithm, number>> = {
  ...commonAlgorithms,
  relu: 0x20,
  gelu: 0x31,
  tanh: 0x21,
  sqrt: 0x25,
  linear: 0x26,
  sigmoid: 0x29,
  exp: 0x2a,
};
const normFlags: Readonly<Record<NormFlag, number>> = { givenStatistics: 1, scale: 2, shift: 4, relu: 8 };
const bits = (flags: readonly NormFlag[]) => flags.reduce((all, flag) => all | normFlags[flag], 0);

/** Between elements of a window: none is left out. */
const dilation = [0, 0];

const joined = (formats: readonly Format[]) =>
  BigUint64Array.from(formats, ({ description }) => BigInt(description as number));

const operations: Table<Name> = {
  concat: ({ sources, axis, dst }) => [
    'dnnl_concat_primitive_desc_create',
    [dst, sources.length, axis, joined(sources)],
  ],
  sum: ({ sources, scales, dst }) => [
    'dnnl_sum_primitive_desc_create',
    [dst, sources.length, Float32Array.from(scales), joined(sources)],
  ],
  binary: ({ algorithm, a, b, dst }) => ['dnnl_binary_primitive_desc_create', [algorithms[algorithm], a, b, dst]],
  eltwise: ({ algorithm, data }) => [
    'dnnl_eltwise_forward_primitive_desc_create',
    [propagations.training, algorithms[algorithm], data, data, 0, 0],
  ],
  eltwiseBackward: ({ algorithm, data }) => [
    'dnnl_eltwise_backward_primitive_desc_create',
    [algorithms[algorithm], data, data, data, 0, 0],
  ],
  matmul: ({ src, weights, bias, dst }) => ['dnnl_matmul_primitive_desc_create', [src, weights, bias, dst]],
  reduction: ({ src, dst }) => ['dnnl_reduction_primitive_desc_create', [algorithms.sum, src, dst, 0, 0]],
  convolution: ({ src, weights, bias, dst, stride, padding }) => [
    'dnnl_convolution_forward_primitive_desc_create',
    [propagations.training, algorithms.convolution, src, weights, bias, dst, stride, dilation, padding, padding],
  ],
  convolutionBackwardData: ({ diffSrc, weights, diffDst, stride, padding }) => [
    'dnnl_convolution_backward_data_primitive_desc_create',
    [algorithms.convolution, diffSrc, weights, diffDst, stride, dilation, padding, padding],
  ],
  convolutionBackwardWeights: ({ src, diffWeights, diffBias, diffDst, stride, padding }) => [
    'dnnl_convolution_backward_weights_primitive_desc_create',
    [algorithms.convolution, src, diffWeights, diffBias, diffDst, stride, dilation, padding, padding],
  ],
  pooling: ({ algorithm, src, dst, stride, kernel, padding }) => [
    'dnnl_pooling_forward_primitive_desc_create',
    [propagations.training, algorithms[algorithm], src, dst, stride, kernel, dilation, padding, padding],
  ],
  poolingBackward: ({ algorithm, diffSrc, diffDst, stride, kernel, padding }) => [
    'dnnl_pooling_backward_primitive_desc_create',
    [algorithms[algorithm], diffSrc, diffDst, stride, kernel, dilation, padding, padding],
  ],
  batchNorm: ({ propagation, data, epsilon, flags }) => [
    'dnnl_batch_normalization_forward_primitive_desc_create',
    [propagations[propagation], data, data, epsilon, bits(flags)],
  ],
  batchNormBackward: ({ propagation, data, epsilon, flags }) => [
    'dnnl_batch_normalization_backward_primitive_desc_create',
    [propagations[propagation], data, data, data, epsilon, bits(flags)],
  ],
  layerNorm: ({ propagation, data, statistics, epsilon, flags }) => [
    'dnnl_layer_normalization_forward_primitive_desc_create',
    [propagations[propagation], data, data, statistics, epsilon, bits(flags)],
  ],
  layerNormBackward: ({ propagation, data, statistics, epsilon, flags }) => [
    'dnnl_layer_normalization_backward_primitive_desc_create',
    [propagations[propagation], data, data, data, statistics, epsilon, bits(flags)],
  ],
};

export function version3({ engine, bind, copyOf }: Binding): Dialect {
  const { call, handle, raw } = bind(signatures);
  const formatOf = (description: number): Format => {
    const [axes, sizes] = [new Int32Array(1), new BigUint64Array(1)];
    call('dnnl_memory_desc_query', description, formatQuery.axes, axes);
    if (axes[0] === 0) return { shape: [], description };
    call('dnnl_memory_desc_query', description, formatQuery.sizes, sizes);
    const copy = copyOf(sizes[0], 8 * axes[0]!);
    return { shape: Array.from({ length: axes[0]! }, (_, axis) => Number(copy.readBigInt64LE(8 * axis))), description };
  };
  const tagged = (shape: Shape, tag: number): Format => {
    const create = 'dnnl_memory_desc_create_with_tag';
    return formatOf(handle(create, shape.length, dimensions(shape), dataType.float32, tag));
  };
  return {
    strided(shape, strides) {
      const [sizes, steps] = [dimensions(shape), dimensions(strides)];
      const create = 'dnnl_memory_desc_create_with_strides';
      return formatOf(handle(create, shape.length, sizes, dataType.float32, steps));
    },
    any: (shape) => tagged(shape, formatTag.any),
    blocked: (shape, width) => tagged(shape, blockedTag[width]),
    part(whole, shape, start) {
      const out = new BigUint64Array(1);
      const create = raw.dnnl_memory_desc_create_submemory;
      const status = create(out, whole.description, dimensions(shape), dimensions(start));
      return status === 0 ? formatOf(Number(out[0])) : undefined;
    },
    wanted: (description, what) =>
      formatOf(handle('dnnl_memory_desc_clone', raw.dnnl_primitive_desc_query_md(description, query[what], 0))),
    release: ({ description }) => call('dnnl_memory_desc_destroy', description),

    describe(kind, operation, attributes, hint) {
      const [name, values] = operations[kind](operation);
      return handle(name, engine, ...values.map(given), ...(hint === undefined ? [] : [hint]), attributes);
    },
    append(chain, post) {
      if (post.kind === 'sum') call('dnnl_post_ops_append_sum', chain, 1, 0, dataType.float32);
      else if (post.kind === 'binary')
        call('dnnl_post_ops_append_binary', chain, algorithms[post.algorithm], given(post.operand.format));
      else {
        const { algorithm, alpha = 0, beta = 0 } = post;
        call('dnnl_post_ops_append_eltwise', chain, algorithms[algorithm], alpha, beta);
      }
    },
    postArgument: (i) => (0x8000 * (i + 1)) | argument.src1,
  };
}
