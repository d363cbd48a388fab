import { createInterface } from 'node:readline/promises';
import { UserError } from '../base/error.ts';

/** Asks on the terminal; only y or yes is a yes. */
export async function confirmed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new UserError('there is no terminal to ask for confirmation, so nothing was done', {
      hint: '--yes does it without asking, --dry-run shows what would be done',
    });
  const dialogue = createInterface({ input: process.stdin, output: process.stderr });
  const stop = new AbortController();
  // Ctrl-C and Ctrl-D are a no.
  dialogue.once('SIGINT', () => stop.abort()).once('close', () => stop.abort());
  try {
    return /^y(es)?$/i.test((await dialogue.question(`${question} [y/N] `, { signal: stop.signal })).trim());
  } catch {
    console.error();
    return false;
  } finally {
    dialogue.close();
  }
}
