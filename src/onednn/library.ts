import { UserError } from '../base/error.ts';
import { type Koffi, loadKoffi } from '../base/ffi.ts';
import { cpuRuntime, engineKind, streamFlags } from './constants.ts';
import type { Binding, Calls, CFunction, Dialect } from './dialect.ts';
import { version2 } from './v2.ts';
import { version3 } from './v3.ts';

/** Functions that are the same in both generations. Handles and addresses are numbers: user space ends at 2⁴⁷. */
const signatures = {
  dnnl_engine_create: 'int(void *, int, size_t)',
  dnnl_stream_create: 'int(void *, uint64_t, uint)',
  dnnl_stream_wait: 'int(uint64_t)',
  dnnl_memory_desc_equal: 'int(void *, void *)',
  dnnl_memory_desc_get_size: 'size_t(void *)',
  dnnl_memory_create: 'int(void *, void *, uint64_t, uint64_t)',
  dnnl_memory_set_data_handle: 'int(uint64_t, uint64_t)',
  dnnl_memory_destroy: 'int(uint64_t)',
  dnnl_primitive_attr_create: 'int(void *)',
  dnnl_primitive_attr_destroy: 'int(uint64_t)',
  dnnl_primitive_attr_set_scratchpad_mode: 'int(uint64_t, int)',
  dnnl_primitive_attr_set_post_ops: 'int(uint64_t, uint64_t)',
  dnnl_post_ops_create: 'int(void *)',
  dnnl_post_ops_destroy: 'int(uint64_t)',
  dnnl_reorder_primitive_desc_create: 'int(void *, void *, uint64_t, void *, uint64_t, uint64_t)',
  dnnl_primitive_desc_query: 'int(uint64_t, int, int, void *)',
  dnnl_primitive_desc_destroy: 'int(uint64_t)',
  dnnl_primitive_create: 'int(void *, uint64_t)',
  dnnl_primitive_destroy: 'int(uint64_t)',
  dnnl_primitive_execute: 'int(uint64_t, uint64_t, int, uint64_t)',
  dnnl_get_effective_cpu_isa: 'int()',
} as const;

/** The one of `dnnl_cpu_isa_t`'s bits that all extents of AVX-512 have. */
const avx512 = 0x20;

const statuses = ['success', 'out of memory', 'invalid arguments', 'unimplemented', 'iterator ends', 'runtime error'];

/** oneDNN answered with a status that is not success. */
export class OneDnnError extends Error {
  override readonly name = 'OneDnnError';
  readonly unimplemented: boolean;

  constructor(name: string, status: number) {
    super(`${name}: ${statuses[status] ?? `status ${status}`}`);
    this.unimplemented = status === 3;
  }
}

/** The library as one thread sees it. */
export interface Library extends Calls<keyof typeof signatures> {
  readonly version: string;
  readonly path: string;
  /** Its kernels' vectors: what the processor has and ONEDNN_MAX_CPU_ISA allows. */
  readonly vectors: 'avx512' | 'avx2';
  readonly engine: number;
  readonly stream: number;
  readonly dialect: Dialect;
  address(memory: ArrayBufferView): number;
  /** How many threads the calls of this thread use from now on. */
  setThreads(count: number): void;
}

/** Names the library's file. */
const variable = 'DBENCH_ONEDNN';
/** What speaks to a version; undefined unless its structures and numbers are known. */
export function dialectOf(version: string): ((binding: Binding) => Dialect) | undefined {
  if (/^2\.[67]\./.test(version)) return version2;
  return /^3\.[1-9]/.test(version) ? version3 : undefined;
}

const names: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  // Debian has called it 3.6 ever since that version.
  linux: ['libdnnl.so.2', 'libdnnl.so.3', 'libdnnl.so.3.6', 'libdnnl.so'],
  darwin: ['libdnnl.2.dylib', 'libdnnl.3.dylib', 'libdnnl.dylib'],
  win32: ['dnnl.dll'],
};

export const installHint = 'on Debian 12: apt-get install libdnnl2, on Debian 13: apt-get install libdnnl3.6';

let opened: Promise<Library> | undefined;

/** oneDNN: the file that DBENCH_ONEDNN names, else where the system looks for libraries. Opened once per thread. */
export function loadLibrary(): Promise<Library> {
  opened ??= open();
  return opened;
}

async function open(): Promise<Library> {
  const koffi = loadKoffi();
  const given = process.env[variable];
  const candidates = given === undefined ? (names[process.platform] ?? []) : [given];
  for (const path of candidates) {
    let library: ReturnType<Koffi['load']>;
    try {
      library = koffi.load(path);
    } catch (cause) {
      if (given === undefined) continue;
      throw new UserError(`${variable}=${given}: ${(cause as Error).message}`, {
        hint: `unset ${variable} to look where the system does`,
        cause,
      });
    }
    return bind(koffi, library, path);
  }
  throw new UserError('the library oneDNN (libdnnl) is not installed', { hint: installHint });
}

function bind(koffi: Koffi, library: ReturnType<Koffi['load']>, path: string): Library {
  const { version, runtime } = versionOf(koffi, library, path);
  const openDialect = dialectOf(version);
  if (openDialect === undefined)
    throw new UserError(`${path} is oneDNN ${version}, but only 2.6, 2.7 and 3.1 or a later 3 are supported`, {
      hint: `${installHint}; or name the file of another version with ${variable}`,
    });
  const bindAll = <Name extends string>(table: Readonly<Record<Name, string>>) => callsOf(library, table);
  const setThreads = runtime === cpuRuntime.omp ? ompThreads(koffi) : () => {};
  // Before the library asks how many there are.
  setThreads(1);
  const calls = bindAll(signatures);
  const engine = calls.handle('dnnl_engine_create', engineKind.cpu, 0);
  const copyOf: Binding['copyOf'] = (pointer, bytes) => Buffer.from(new Uint8Array(koffi.view(pointer, bytes)).slice());
  return {
    ...calls,
    version,
    path,
    vectors: (calls.raw.dnnl_get_effective_cpu_isa() as number) & avx512 ? 'avx512' : 'avx2',
    engine,
    stream: calls.handle('dnnl_stream_create', engine, streamFlags.inOrder),
    dialect: openDialect({ engine, bind: bindAll, copyOf }),
    address: (memory) => Number(koffi.address(memory)),
    setThreads,
  };
}

function callsOf<Name extends string>(
  library: ReturnType<Koffi['load']>,
  table: Readonly<Record<Name, string>>,
): Calls<Name> {
  const prototype = (name: string, signature: string) => signature.replace('(', ` ${name}(`);
  const raw = Object.fromEntries(
    Object.entries<string>(table).map(([name, signature]) => [name, library.func(prototype(name, signature))]),
  ) as unknown as Record<Name, CFunction>;
  const call = (name: Name, ...args: unknown[]) => {
    const status = raw[name](...args) as number;
    if (status !== 0) throw new OneDnnError(name, status);
  };
  const out = new BigUint64Array(1);
  const handle = (name: Name, ...args: unknown[]) => {
    call(name, out, ...args);
    return Number(out[0]);
  };
  return { call, handle, raw };
}

function versionOf(koffi: Koffi, library: ReturnType<Koffi['load']>, path: string) {
  let pointer: unknown;
  try {
    pointer = library.func('void *dnnl_version()')();
  } catch (cause) {
    throw new UserError(`${path} is not oneDNN: it has no function dnnl_version`, { hint: installHint, cause });
  }
  const [major, minor, patch] = koffi.decode(pointer, koffi.array('int', 3)) as [number, number, number];
  // Behind three numbers, padding and a pointer.
  const runtime = koffi.decode(pointer, 24, 'uint') as number;
  return { version: `${major}.${minor}.${patch}`, runtime };
}

/**
 * OMP_NUM_THREADS is read when a process starts, and worker threads cannot change it; this can, for each thread that asks.
 * libgomp is one for the whole process: what else uses it in this thread gets the same number.
 */
function ompThreads(koffi: Koffi): (count: number) => void {
  for (const name of ['libgomp.so.1', 'libomp.so.5', 'libiomp5.so', 'libomp.dylib'])
    try {
      return koffi.load(name).func('void omp_set_num_threads(int)') as (count: number) => void;
    } catch {
      // The next one.
    }
  return () => {};
}
