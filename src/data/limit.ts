import { UserError } from '../base/error.ts';
import { Random } from '../base/random.ts';
import { type Dataset, type Samples, sharedInts, type Tokens, take } from './dataset.ts';

export type Split = 'train' | 'test';

/** Streams of the purpose "partition"; dealing to replicas uses 0. */
const streams: Readonly<Record<Split, number>> = { train: 1, test: 2 };

function refuse(what: string, split: Split, wanted: number, available: number): never {
  throw new UserError(
    `data.${split}: ${wanted.toLocaleString('en-US')} ${what} wanted, there are ${available.toLocaleString('en-US')}`,
    { hint: `leave data.${split} out to use all` },
  );
}

/** Which samples to use when `wanted` of `count` are: drawn without replacement, in their original order. */
export function choose(count: number, wanted: number | undefined, seed: number, split: Split): Uint32Array | undefined {
  if (wanted === undefined || wanted === count) return undefined;
  if (wanted > count) refuse('samples', split, wanted, count);
  return new Random(seed, 'partition', streams[split]).permutation(count).slice(0, wanted).sort();
}

function limitSamples(samples: Samples, wanted: number | undefined, seed: number, split: Split): Samples {
  // Samples in a file were chosen before they were written there.
  if (!ArrayBuffer.isView(samples.features)) return samples;
  const chosen = choose(samples.count, wanted, seed, split);
  return chosen === undefined ? samples : take(samples, chosen);
}

/** The first tokens of a text: a text cut anywhere else would no longer be one. */
export function limitTokens(text: Tokens, wanted: number | undefined, split: Split): Tokens {
  const { tokens, utterances } = text;
  if (wanted === undefined || wanted === tokens.length) return text;
  if (wanted > tokens.length) refuse('tokens', split, wanted, tokens.length);
  const kept = { tokens: tokens.subarray(0, wanted) };
  if (utterances === undefined) return kept;
  const starts = [...utterances.starts].filter((start) => start < wanted);
  return {
    ...kept,
    utterances: { starts: sharedInts([...starts, wanted]), speakers: utterances.speakers.subarray(0, starts.length) },
  };
}

/** Only as many training and test samples (of a text: tokens) as wanted. */
export function limit(
  dataset: Dataset,
  wanted: { readonly train?: number | undefined; readonly test?: number | undefined },
  seed: number,
): Dataset {
  if (dataset.task === 'language')
    return {
      ...dataset,
      train: limitTokens(dataset.train, wanted.train, 'train'),
      test: limitTokens(dataset.test, wanted.test, 'test'),
    };
  return {
    ...dataset,
    train: limitSamples(dataset.train, wanted.train, seed, 'train'),
    test: limitSamples(dataset.test, wanted.test, seed, 'test'),
  };
}
