import { suggest, UserError } from '../base/error.ts';
import type { Collection, DataSet } from './set.ts';
import { cifar10 } from './sets/cifar10.ts';
import { fashionMnist } from './sets/fashion-mnist.ts';
import { images } from './sets/images.ts';
import { libsvm } from './sets/libsvm.ts';
import { mnist, writers } from './sets/mnist.ts';
import { numpy } from './sets/numpy.ts';
import { shakespeare } from './sets/shakespeare.ts';
import { synthetic } from './sets/synthetic.ts';
import { table } from './sets/table.ts';
import { text } from './sets/text.ts';
import { wikitext2 } from './sets/wikitext-2.ts';

/** Every data set, a row each. */
export const sets = [
  mnist,
  fashionMnist,
  cifar10,
  wikitext2,
  shakespeare,
  libsvm,
  table,
  numpy,
  images,
  text,
  synthetic,
] as const;

/** The same without the settings' types, for those who treat all sets alike. */
export const allSets = sets as unknown as readonly DataSet[];

/** Everything that is kept in files of known content, the sets first. */
export const collections: readonly Collection[] = [...allSets.flatMap((set) => set.collection ?? []), writers];

/** The collection the user named. */
export function collectionOf(name: string): Collection {
  const found = collections.find((collection) => collection.name === name);
  if (found !== undefined) return found;
  const set = allSets.find((candidate) => candidate.name === name);
  if (set !== undefined) throw new UserError(`${name} has no files to get or verify: it is ${set.origin!.from}`);
  const names = collections.map((collection) => collection.name);
  throw new UserError(`unknown data set "${name}"`, { hint: suggest(name, names) });
}
