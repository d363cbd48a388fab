import { UserError } from './error.ts';

export type Koffi = typeof import('koffi');

/** koffi, which calls C libraries without a compiler: an optional dependency, so it is loaded only where one is asked for. */
export async function loadKoffi(): Promise<Koffi> {
  try {
    return (await import('koffi')).default as unknown as Koffi;
  } catch (cause) {
    throw new UserError(`C libraries cannot be called here: ${(cause as Error).message.split('\n')[0]}`, {
      hint: 'install the optional dependency: npm install koffi',
      cause,
    });
  }
}
