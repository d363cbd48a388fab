import { UserError } from '../base/error.ts';

/** The idx format of MNIST: a magic number (type and number of dimensions), the dimensions, then the values, big-endian. */
export interface Idx {
  readonly shape: readonly number[];
  readonly values: Uint8Array | Int32Array;
}

const types: Readonly<Record<number, { bytes: number }>> = { 8: { bytes: 1 }, 12: { bytes: 4 } };

export function parseIdx(content: Buffer, where: string): Idx {
  const bad = (why: string) => new UserError(`${where} is not a readable idx file: ${why}`);
  if (content.length < 4) throw bad(`it has only ${content.length} bytes`);
  const type = types[content[2]!];
  const dimensions = content[3]!;
  if (content.readUInt16BE(0) !== 0 || type === undefined) throw bad('it does not begin like one');
  const start = 4 + 4 * dimensions;
  if (content.length < start) throw bad('its header is cut off');
  const shape = Array.from({ length: dimensions }, (_, d) => content.readUInt32BE(4 + 4 * d));
  const count = shape.reduce((product, side) => product * side, 1);
  if (content.length !== start + type.bytes * count)
    throw bad(`${shape.join('×')} values need ${start + type.bytes * count} bytes, it has ${content.length}`);
  if (type.bytes === 1) return { shape, values: content.subarray(start) };
  return { shape, values: Int32Array.from({ length: count }, (_, i) => content.readInt32BE(start + 4 * i)) };
}
