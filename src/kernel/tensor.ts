import { adviseLargePages } from '../base/pages.ts';
import { privateWasm } from './binary.ts';
import { type Memory, WebAssembly } from './webassembly.ts';

/** Passes over tensors in one memory, see assembly/{tensor,loss,statistics,pixels}.ts; arguments are addresses, then counts. */
export interface TensorKernel {
  dropoutMask(out: number, count: number, a: number, b: number, bound: number, factor: number): void;
  accumulate(y: number, x: number, count: number): void;
  gather(out: number, places: number, count: number, size: number): number;
  lookUp(out: number, bytes: number, table: number, count: number): void;
  rankOf(x: number, count: number, index: number): number;
  crossEntropy(x: number, logs: number, count: number, label: number): number;
  softmax(x: number, y: number, rows: number, width: number, causal: boolean): void;
  softmaxGrad(dy: number, y: number, dx: number, rows: number, width: number, causal: boolean): void;
  channelStatistics(
    x: number,
    samples: number,
    blocks: number,
    pixels: number,
    width: number,
    sums: number,
    mean: number,
    variance: number,
  ): void;
  doubleCells(gates: number, rows: number, width: number): void;
  lstmCell(gates: number, before: number, cells: number, rows: number, width: number): void;
  lstmOutput(gates: number, tanhCells: number, y: number, rows: number, width: number): void;
  lstmCellGrad(
    dy: number,
    dh: number,
    dc: number,
    gates: number,
    tanhCells: number,
    before: number,
    dgates: number,
    rows: number,
    width: number,
    stride: number,
  ): void;
}

const pageBytes = 65536;
/** The end of 32-bit addresses. */
export const maxTensorBytes = 65536 * pageBytes;

let module: object | undefined;

/** New memory of at least so many bytes, which never grows, and the passes over it. */
export function tensorMemory(bytes: number): { readonly memory: Memory; readonly kernel: TensorKernel } {
  const pages = Math.max(1, Math.ceil(bytes / pageBytes));
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: false });
  adviseLargePages(memory.buffer);
  module ??= new WebAssembly.Module(Buffer.from(privateWasm, 'base64'));
  return { memory, kernel: new WebAssembly.Instance(module, { env: { memory } }).exports as TensorKernel };
}
