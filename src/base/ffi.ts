import { createRequire } from 'node:module';
import { UserError } from './error.ts';

export type Koffi = typeof import('koffi');

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
