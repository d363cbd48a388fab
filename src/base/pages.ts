import { loadKoffi } from './ffi.ts';

/** Of Linux: pages of 2 MB where the system has them. */
const hugePages = 14;
const pageBytes = 4096;
const largePageBytes = 2 ** 21;

type Advise = (memory: Uint8Array) => void;
let known: Advise | undefined;

function load(): Advise {
  if (process.platform !== 'linux') return () => {};
  try {
    const koffi = loadKoffi();
    const madvise = koffi.load(null).func('int madvise(uint64_t, size_t, int)');
    return (memory) => {
      const start = Number(koffi.address(memory));
      const first = Math.ceil(start / pageBytes) * pageBytes;
      const bytes = start + memory.byteLength - first;
      if (bytes >= largePageBytes) madvise(first, bytes, hugePages);
    };
  } catch {
    return () => {};
  }
}

/**
 * Asks for large pages under memory, before it is written to: processors read ahead within a page only, and rows of replicas are read from
 * end to end; samples are read here and there, each of them from a page of its own. Nothing but time depends on it, so where it cannot be had it is left out.
 */
export function adviseLargePages(memory: ArrayBufferLike): void {
  known ??= load();
  known(new Uint8Array(memory));
}
