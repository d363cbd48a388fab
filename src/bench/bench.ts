import { UserError } from '../base/error.ts';
import { wholeNumber } from '../base/whole-number.ts';

/** Something that is timed against a yardstick in the same run: one file here and one row in cli/bench.ts. */
export interface Bench<Options> {
  readonly options: readonly BenchOption[];
  run(options: Options): BenchResult | Promise<BenchResult>;
}

export interface BenchOption {
  /** As commander writes them: `-n, --n <replicas>`. */
  readonly flags: string;
  readonly description: string;
  /** Left out if it takes no value. */
  readonly default?: unknown;
  /** A UserError on what is not allowed. */
  parse?(text: string): unknown;
}

const nameOf = (flags: string) => flags.match(/--\w+/)![0];

/** An option without a value. */
export const flag = (flags: string, description: string): BenchOption => ({ flags, description });

/** An option that takes a whole number. */
export function whole(flags: string, description: string, usual: number, least: number, most: number): BenchOption {
  return { flags, description, default: usual, parse: (text) => wholeNumber(nameOf(flags), text, least, most) };
}

/** An option that takes whole numbers with commas between them. */
export function wholes(
  flags: string,
  description: string,
  usual: readonly number[],
  least: number,
  most: number,
): BenchOption {
  const parse = (text: string) => text.split(',').map((part) => wholeNumber(nameOf(flags), part, least, most));
  return { flags, description, default: usual, parse };
}

/** An option that takes one of these words. */
export function word(flags: string, description: string, usual: string, allowed: readonly string[]): BenchOption {
  const parse = (text: string) => {
    if (allowed.includes(text)) return text;
    throw new UserError(`${nameOf(flags)} must be one of ${allowed.join(', ')}, got "${text}"`);
  };
  return { flags, description, default: usual, parse };
}

export interface BenchResult {
  /** What `--json` prints. */
  readonly data: object;
  readonly title: string;
  readonly headers: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly note: string;
}
