import { UserError } from './error.ts';

/** What a user gave as a whole number: for an option or setting of this name. */
export function wholeNumber(
  name: string,
  text: string,
  least: number,
  most = Number.MAX_SAFE_INTEGER,
  hint?: string,
): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isInteger(value) && value >= least && value <= most) return value;
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least}` : `from ${least} to ${most}`;
  throw new UserError(`${name} must be a whole number ${range}, got "${text}"`, { hint });
}
