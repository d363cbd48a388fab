import { UserError } from './error.ts';

/** Calls functions of C libraries. An optional dependency: only what needs such a library asks for it. */
export type Koffi = typeof import('koffi');

export async function loadKoffi(): Promise<Koffi> {
  try {
    return (await import('koffi')).default as unknown as Koffi;
  } catch (cause) {
    throw new UserError('the package koffi, which calls C libraries, is not installed', {
      hint: 'npm install koffi',
      cause,
    });
  }
}
