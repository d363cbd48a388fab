import { loadKoffi } from './ffi.ts';

/** Of Linux: pages of 2 MB where the system has them. */
const hugePages = 14;

type Advise = (memory: Uint8Array) => void;
let known: Advise | undefined;

function load(): Advise {
  if (process.platform !== 'linux') return () => {};
  try {
    const koffi = loadKoffi();
    const madvise = koffi.load(null).func('int madvise(uint64_t, size_t, int)');
    return (memory) => madvise(Number(koffi.address(memory)), memory.byteLength, hugePages);
  } catch {
    return () => {};
  }
}

/**
 * Asks for large pages under memory that begins at a page, as WebAssembly's does: processors read ahead within a page only, and rows of
 * replicas are read from end to end. Nothing but time depends on it, so where it cannot be had it is left out.
 */
export function adviseLargePages(memory: ArrayBufferLike): void {
  known ??= load();
  known(new Uint8Array(memory));
}
