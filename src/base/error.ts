/** A mistake of the user's: printed as a message without a stack, exit code 2. Anything else is a bug and keeps its stack. */
export class UserError extends Error {
  override readonly name = 'UserError';
  /** What to do about it. */
  readonly hint: string | undefined;

  constructor(message: string, options: { hint?: string | undefined; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.hint = options.hint;
  }
}

/** Message and hint in one line. */
export const told = ({ message, hint }: UserError): string => (hint === undefined ? message : `${message}; ${hint}`);

/** A machine or a link that is gone: printed without a stack, exit code 1. Trying again may help. */
export class LostError extends Error {
  override readonly name = 'LostError';
  readonly hint: string | undefined;

  constructor(message: string, options: { hint?: string | undefined } = {}) {
    super(message);
    this.hint = options.hint;
  }
}

/** Errors lose their class on the way out of a worker thread. */
export function revived(error: unknown): unknown {
  const { name, message, hint } = error as { name?: string; message: string; hint?: string };
  if (name === 'UserError') return new UserError(message, { hint });
  return name === 'LostError' ? new LostError(message, { hint }) : error;
}

/** The candidate closest to a mistyped word, or undefined when none is close enough to be meant. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const bound = Math.max(1, Math.floor(word.length / 3));
  let best: string | undefined;
  let bestDistance = bound + 1;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbouring letters. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min(previous[j]! + 1, row[j - 1]! + 1, substituted);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) row[j] = Math.min(row[j]!, before[j - 2]! + 1);
    }
    [before, previous] = [previous, row];
  }
  return previous[b.length]!;
}

/** `did you mean "ring"?` or the whole list when nothing is near. */
export function suggest(word: string, candidates: readonly string[]): string {
  const near = nearest(word, candidates);
  return near === undefined ? `use one of: ${candidates.join(', ')}` : `did you mean "${near}"?`;
}
