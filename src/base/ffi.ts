import { createRequire } from 'node:module';
import { UserError } from './error.ts';

/** A C function, called as JavaScript's. */
// biome-ignore lint/suspicious/noExplicitAny: its signature is a text that koffi reads when it runs
type CFunction = (...args: any[]) => any;

interface CLibrary {
  func(prototype: string): CFunction;
  func(name: string, result: string, parameters: readonly string[]): CFunction;
  /** The address of something in the library; throws if it has none of that name. */
  symbol(name: string, type: string): unknown;
}

/** The part of koffi that is used. */
export interface Koffi {
  /** Null for what is part of this process already. */
  load(path: string | null, options?: { readonly global?: boolean; readonly lazy?: boolean }): CLibrary;
  /** An array type. */
  array(type: string, length: number): object;
  decode(pointer: unknown, type: string | object): unknown;
  decode(pointer: unknown, offset: number, type: string | object): unknown;
  /** C memory in place. */
  view(pointer: unknown, bytes: number): ArrayBuffer;
  address(memory: ArrayBufferView): bigint;
}

/**
 * koffi, which calls C libraries without a compiler: an optional dependency, so it is loaded only if one is asked for. It is taken
 * from its packages with the binary of one platform each: the package named koffi has an install script, about which npm warns.
 * On Linux it is 3.0: from 3.1 on it keeps 3 MB in three mappings of every thread that has ended.
 */
export function loadKoffi(): Koffi {
  const name = `@koromix/koffi-${process.platform}-${process.arch}`;
  try {
    return createRequire(import.meta.url)(name);
  } catch (cause) {
    throw new UserError(`C libraries cannot be called here: ${(cause as Error).message.split('\n')[0]}`, {
      hint: `install the optional dependency: npm install ${name}`,
      cause,
    });
  }
}
