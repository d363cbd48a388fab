/** Numbers of oneDNN's C interface that are the same in both generations. */

export const engineKind = { cpu: 1 } as const;
export const streamFlags = { inOrder: 1 } as const;
export const dataType = { float32: 3 } as const;
export const formatTag = { any: 1 } as const;
export const scratchpadMode = { user: 1 } as const;
/** How the library was built to run on several threads. */
export const cpuRuntime = { omp: 2 } as const;

export const propagations = { training: 64, inference: 96, backward: 128, backwardData: 160 } as const;
export type Propagation = keyof typeof propagations;

export const commonAlgorithms = {
  convolution: 1,
  add: 0x1fff0,
  mul: 0x1fff1,
  maximum: 0x1fff2,
  minimum: 0x1fff3,
  div: 0x1fff4,
  sub: 0x1fff5,
  /** Backward from what was computed, not from what it was computed of. */
  reluFromOutput: 0x100,
  tanhFromOutput: 0x101,
  sigmoidFromOutput: 0x104,
  maxPool: 0x1ff,
  /** The padding counts as zeros. */
  avgPool: 0x2ff,
  sum: 0x2fff4,
} as const;

export const query = {
  src: 129,
  diffSrc: 130,
  weights: 131,
  diffWeights: 132,
  dst: 133,
  diffDst: 134,
  workspace: 135,
  scratchpad: 136,
} as const;
export type Query = keyof typeof query;
/** How many tensors a primitive reads. */
export const inputCountQuery = 3;

/** What a primitive takes and gives. */
export const argument = {
  src: 1,
  src1: 2,
  dst: 17,
  weights: 33,
  bias: 41,
  mean: 49,
  variance: 50,
  scale: 51,
  shift: 52,
  workspace: 64,
  scratchpad: 80,
  diffSrc: 129,
  diffDst: 145,
  diffWeights: 161,
  diffBias: 169,
  diffScale: 255,
  diffShift: 256,
} as const;
export type Argument = keyof typeof argument;
/** Sources of a sum or concatenation. */
export const sourceArgument = (i: number): number => 1024 + i;
