import { requireSha256 } from '../base/content.ts';
import { UserError } from '../base/error.ts';
import { number } from '../base/format.ts';
import { Random } from '../base/random.ts';
import { contentSha256 } from './content.ts';
import { findFile } from './folder.ts';

/** A file of the user's, plain or .gz: where it is kept, once its content is known to be what the experiment says. */
export function ownFile(path: string, sha256: string | undefined, what: string, verify = true): string {
  const found = findFile('', path);
  const content = found === undefined ? undefined : verify ? contentSha256(path) : sha256;
  if (found === undefined || (verify && content === undefined))
    throw new UserError(`cannot read the ${what} ${path}: ${found === undefined ? 'no such file' : 'it is no file'}`, {
      hint: 'paths in an experiment count from its folder, those of --set from the working directory',
    });
  if (content !== undefined) requireSha256(path, content, sha256);
  return found;
}

/** Which samples train and which test, in ascending order. */
export interface TestSplit {
  readonly train: Uint32Array;
  readonly test: Uint32Array;
}

/** Sets a share of the samples aside for testing, drawn by the seed. */
export function setAside(count: number, share: number, seed: number, where: string): TestSplit {
  const cut = Math.floor(count * share);
  if (cut === 0 || cut === count)
    throw new UserError(
      `${where} holds ${number(count)} samples; a share of ${number(share, 3)} set aside for testing leaves ${cut === 0 ? 'no test' : 'no training'} sample`,
      { hint: 'give more samples, or test samples of their own as data.testPath' },
    );
  const order = new Random(seed, 'partition', 3).permutation(count);
  return { test: order.slice(0, cut).sort(), train: order.slice(cut).sort() };
}

/** The first samples train, the others, which come from a test file, test. */
export const firstTrain = (count: number, trained: number): TestSplit => ({
  train: Uint32Array.from({ length: trained }, (_, i) => i),
  test: Uint32Array.from({ length: count - trained }, (_, i) => trained + i),
});

/** Mean and standard deviation, as a model is given values: (value − mean) / deviation. A constant has deviation 1. */
export interface Scale {
  readonly mean: number;
  readonly deviation: number;
}

/** As they are. */
export const unscaled: Scale = { mean: 0, deviation: 1 };

/** Of these values, in two passes, for they may be far from 0; counted from the first, so that a constant deviates by exactly 0. */
export function scaleOf(values: Float64Array | Float32Array, chosen: Uint32Array): Scale {
  let [sum, squares] = [0, 0];
  const first = values[chosen[0]!]!;
  for (const i of chosen) sum += values[i]! - first;
  const mean = first + sum / chosen.length;
  for (const i of chosen) squares += (values[i]! - mean) ** 2;
  const deviation = Math.sqrt(squares / chosen.length);
  return { mean, deviation: deviation > 1e-12 * Math.abs(mean) ? deviation : 1 };
}
