import { crc32, inflateRawSync } from 'node:zlib';
import { UserError } from '../../../base/error.ts';
import { number } from '../../../base/format.ts';
import { requireMemory } from '../../../base/memory.ts';

/** An array as NumPy stores it, the last axis fastest. */
export interface NumpyArray {
  /** As NumPy writes it, such as <f4. */
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly values: Uint8Array | Float32Array | Float64Array;
}

type Reader = (view: DataView, at: number, little: boolean) => number;

const half: Reader = (view, at, little) => {
  const bits = view.getUint16(at, little);
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15));
};

/** Types of elements by kind and size. */
const readers: Readonly<Record<string, Reader>> = {
  b1: (view, at) => (view.getUint8(at) === 0 ? 0 : 1),
  u1: (view, at) => view.getUint8(at),
  i1: (view, at) => view.getInt8(at),
  u2: (view, at, little) => view.getUint16(at, little),
  i2: (view, at, little) => view.getInt16(at, little),
  u4: (view, at, little) => view.getUint32(at, little),
  i4: (view, at, little) => view.getInt32(at, little),
  u8: (view, at, little) => Number(view.getBigUint64(at, little)),
  i8: (view, at, little) => Number(view.getBigInt64(at, little)),
  f2: half,
  f4: (view, at, little) => view.getFloat32(at, little),
  f8: (view, at, little) => view.getFloat64(at, little),
};

const magic = '\x93NUMPY';
const maxAxes = 32;

/** Reads the content of a .npy file. The header is a Python literal, of which only the form that NumPy writes is taken. */
export function parseNpy(content: Uint8Array, where: string): NumpyArray {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  const bad = (why: string, hint?: string) => new UserError(`${where} cannot be read: ${why}`, { hint });
  if (bytes.subarray(0, 6).toString('latin1') !== magic || bytes.length < 12)
    throw bad('it is no NumPy array', 'write it with numpy.save or numpy.savez');
  const [major, wide] = [bytes[6]!, bytes[6]! >= 2];
  if (major < 1 || major > 3) throw bad(`its format has version ${major}, known are 1 to 3`);
  const [from, length] = [wide ? 12 : 10, wide ? bytes.readUInt32LE(8) : bytes.readUInt16LE(8)];
  if (from + length > bytes.length) throw bad('it ends within its header');
  const header = bytes.subarray(from, from + length).toString('latin1');
  const descr = /'descr':\s*'([^']*)'/.exec(header)?.[1];
  const order = /'fortran_order':\s*(True|False)/.exec(header)?.[1];
  const axes = /'shape':\s*\(([\d\s,L]*)\)/.exec(header)?.[1];
  if (order === undefined || axes === undefined || (descr === undefined && !header.includes("'descr'")))
    throw bad('its header is damaged');
  const type = /^([<>|=])([buif]\d)$/.exec(descr ?? '');
  const read = type === null ? undefined : readers[type[2]!];
  if (type === null || read === undefined)
    throw bad(
      `its elements are of type ${descr ?? 'record'}`,
      'convert it to numbers first, as in: array.astype("float32"); objects and text cannot be read',
    );
  const shape = axes.split(',').flatMap((axis) => (axis.trim() === '' ? [] : [Number.parseInt(axis, 10)]));
  const [count, size] = [shape.reduce((a, b) => a * b, 1), Number(type[2]![1])];
  if (shape.length > maxAxes || !Number.isSafeInteger(count * size)) throw bad(`it has the shape (${axes})`);
  const data = bytes.subarray(from + length);
  if (data.length !== count * size)
    throw bad(
      `it holds ${number(data.length)} bytes of numbers, its shape (${shape.join(', ')}) needs ${number(count * size)}`,
      'it may have been cut off: copy it again',
    );
  const is8 = type[2] === 'u1' || type[2] === 'b1';
  const values = is8 ? new Uint8Array(count) : type[2] === 'f4' ? new Float32Array(count) : new Float64Array(count);
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const place = order === 'True' ? columnMajor(shape) : (i: number) => i;
  for (let i = 0; i < count; i++) values[place(i)] = read(view, i * size, type[1] !== '>');
  return { dtype: descr!, shape, values };
}

/** Where element i of an array stored first axis fastest stands if the last one is. */
function columnMajor(shape: readonly number[]): (i: number) => number {
  const strides = shape.map((_, axis) => shape.slice(axis + 1).reduce((a, b) => a * b, 1));
  return (i) => {
    let [rest, at] = [i, 0];
    for (const [axis, length] of shape.entries()) {
      at += (rest % length) * strides[axis]!;
      rest = Math.floor(rest / length);
    }
    return at;
  };
}

const [endMark, directoryMark, localMark] = [0x06054b50, 0x02014b50, 0x04034b50];
const [stored, deflated] = [0, 8];
/** Arrays of one file. */
const maxMembers = 10_000;

/** Reads the content of a .npz file, a zip archive of .npy files; only those that are asked for are unpacked. */
export function parseNpz(content: Uint8Array, where: string): ReadonlyMap<string, () => NumpyArray> {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  const bad = (why: string, hint?: string) => new UserError(`${where} cannot be read: ${why}`, { hint });
  const cut = () => bad('it is damaged or cut off', 'copy it again, or write it anew with numpy.savez');
  // The end record is the last thing but a comment of up to 65,535 bytes.
  const tail = bytes.subarray(Math.max(0, bytes.length - 22 - 65_535));
  const mark = Buffer.alloc(4);
  mark.writeUInt32LE(endMark);
  const end = bytes.length - tail.length + tail.lastIndexOf(mark);
  if (tail.lastIndexOf(mark) < 0 || end + 22 > bytes.length)
    throw bad('it is no .npz archive', 'write it with numpy.savez');
  const count = bytes.readUInt16LE(end + 10);
  if (count > maxMembers) throw bad(`it holds ${number(count)} arrays, at most ${number(maxMembers)} can be read`);
  const members = new Map<string, () => NumpyArray>();
  let at = bytes.readUInt32LE(end + 16);
  for (let member = 0; member < count; member++) {
    if (at + 46 > end || bytes.readUInt32LE(at) !== directoryMark) throw cut();
    const method = bytes.readUInt16LE(at + 10);
    const [sum, packed, size] = [16, 20, 24].map((field) => bytes.readUInt32LE(at + field)) as [number, number, number];
    const [nameLength, extra, comment] = [28, 30, 32].map((field) => bytes.readUInt16LE(at + field)) as [
      number,
      number,
      number,
    ];
    const local = bytes.readUInt32LE(at + 42);
    const file = bytes.subarray(at + 46, at + 46 + nameLength).toString();
    const name = file.replace(/\.npy$/, '');
    at += 46 + nameLength + extra + comment;
    if (packed === 0xffffffff || size === 0xffffffff || local === 0xffffffff)
      throw bad(`${file} is larger than 4 GB`, 'store it as a .npy file of its own');
    members.set(name, () => {
      if (method !== stored && method !== deflated) throw bad(`${file} is packed in an unknown way`);
      if (local + 30 > bytes.length || bytes.readUInt32LE(local) !== localMark) throw cut();
      const from = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
      if (from + packed > bytes.length || (method === stored && packed !== size)) throw cut();
      requireMemory(size, `the arrays of ${where}`, 'use a smaller file');
      const data = unpacked(bytes.subarray(from, from + packed), method, size);
      if (data === undefined || data.length !== size || crc32(data) !== sum) throw cut();
      return parseNpy(data, `${where}: ${file}`);
    });
  }
  if (members.size === 0) throw bad('it holds no arrays');
  return members;
}

function unpacked(data: Uint8Array, method: number, size: number): Uint8Array | undefined {
  if (method === stored) return data;
  try {
    return inflateRawSync(data, { maxOutputLength: Math.max(1, size) });
  } catch {
    return undefined;
  }
}
