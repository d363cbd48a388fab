import { sizeOf } from '../base/shape.ts';
import type { Shape } from '../tensor/program.ts';
import type { DecodedTensor } from './schema.ts';

/** A tensor of known values. */
export interface Constant {
  readonly kind: 'float' | 'int' | 'bool';
  readonly dims: Shape;
  readonly data: Float32Array | Float64Array;
}

type Refuse = (what: string, hint?: string) => never;
/** Bytes from another file. */
export type Outside = (location: string, offset: number, length: number, refuse: Refuse) => Uint8Array;

const limits = { axes: 8, elements: 2 ** 29 };

interface Element {
  readonly kind: Constant['kind'];
  readonly bytes: number;
  read(view: DataView, at: number): number;
  /** The list that holds them if they are not raw. */
  readonly list: 'float_data' | 'int32_data' | 'int64_data' | 'double_data';
}

/** By their numbers in the format. */
const elements: Readonly<Record<number, Element>> = {
  1: { kind: 'float', bytes: 4, read: (view, at) => view.getFloat32(at, true), list: 'float_data' },
  2: { kind: 'int', bytes: 1, read: (view, at) => view.getUint8(at), list: 'int32_data' },
  3: { kind: 'int', bytes: 1, read: (view, at) => view.getInt8(at), list: 'int32_data' },
  6: { kind: 'int', bytes: 4, read: (view, at) => view.getInt32(at, true), list: 'int32_data' },
  7: { kind: 'int', bytes: 8, read: (view, at) => Number(view.getBigInt64(at, true)), list: 'int64_data' },
  9: { kind: 'bool', bytes: 1, read: (view, at) => (view.getUint8(at) === 0 ? 0 : 1), list: 'int32_data' },
  11: { kind: 'float', bytes: 8, read: (view, at) => view.getFloat64(at, true), list: 'double_data' },
};

/** The values of a tensor of a file; sizes are checked before memory is taken. */
export function tensorOf(tensor: DecodedTensor, where: string, outside: Outside, refuse: Refuse): Constant {
  const { dims } = tensor;
  const element = elements[tensor.data_type];
  if (element === undefined)
    return refuse(`${where} has elements of kind ${tensor.data_type}`, 'export a float32 model: model.float()');
  if (dims.length > limits.axes || !dims.every((size) => Number.isSafeInteger(size) && size >= 0))
    return refuse(`${where} has the shape [${dims.slice(0, 12)}]`);
  const count = sizeOf(dims);
  if (count > limits.elements) return refuse(`${where} has ${count} elements; at most ${limits.elements} are read`);
  const listed = tensor[element.list];
  const fits = (given: number, unit: string): void => {
    if (given !== count * (unit === 'bytes' ? element.bytes : 1))
      refuse(`${where} has the shape [${dims}], but ${given} ${unit}`);
  };
  if (tensor.data_location === 0 && tensor.raw_data.length === 0) {
    fits(listed.length, 'values');
    return constant(element, dims, (i) => listed[i]!);
  }
  const raw =
    tensor.data_location === 1 ? external(tensor, where, count * element.bytes, outside, refuse) : tensor.raw_data;
  fits(raw.length, 'bytes');
  const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
  return constant(element, dims, (i) => element.read(view, i * element.bytes));
}

function constant({ kind }: Element, dims: Shape, at: (i: number) => number): Constant {
  const data = kind === 'float' ? new Float32Array(sizeOf(dims)) : new Float64Array(sizeOf(dims));
  for (let i = 0; i < data.length; i++) data[i] = at(i);
  return { kind, dims: [...dims], data };
}

function external(
  { external_data: entries }: DecodedTensor,
  where: string,
  bytes: number,
  outside: Outside,
  refuse: Refuse,
): Uint8Array {
  const entry = (key: string) => entries.find((each) => each.key === key)?.value;
  const number = (key: string, otherwise: number) => {
    const text = entry(key);
    if (text === undefined) return otherwise;
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    return Number.isSafeInteger(value) ? value : refuse(`${where}: "${text.slice(0, 20)}" is no ${key}`);
  };
  const length = number('length', bytes);
  if (length !== bytes) return refuse(`${where} needs ${bytes} bytes, but its data are ${length}`);
  return outside(entry('location') ?? '', number('offset', 0), length, refuse);
}
