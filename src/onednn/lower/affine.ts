import type { NormFlag } from '../dialect.ts';
import type { Arguments, Described, Recorder, Stored } from '../recorder.ts';

/** Norms with a scale and a shift per channel. */
export const affine: readonly NormFlag[] = ['scale', 'shift'];

/**
 * What the gradient of a norm with scale and shift reads. The shift changes nothing, but some versions refuse to do without it
 * and others to be given it: they are asked.
 */
export function withShift(
  recorder: Recorder,
  described: Described,
  inputs: Arguments & { readonly scale: Stored },
): Arguments {
  const asked = recorder.inputCount(described) > Object.keys(inputs).length;
  return asked ? { ...inputs, shift: inputs.scale } : inputs;
}
