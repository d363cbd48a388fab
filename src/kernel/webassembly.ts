/** The part of WebAssembly that kernels use: the types of Node do not describe it, and those of browsers bring all of the DOM. */
export interface Memory {
  readonly buffer: ArrayBufferLike;
  /** Returns the pages there were before. */
  grow(pages: number): number;
}

/** A compiled module. */
type Module = object;

export const WebAssembly = (globalThis as unknown as { WebAssembly: Declared }).WebAssembly;

interface Declared {
  readonly Memory: new (options: { initial: number; maximum: number; shared: boolean }) => Memory;
  readonly Module: new (bytes: Uint8Array) => Module;
  readonly Instance: new (module: Module, imports: { env: { memory: Memory } }) => { readonly exports: unknown };
}
