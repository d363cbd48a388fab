import { it } from 'vitest';
import { dataFolder, presence } from '../src/data/folder.ts';
import { collectionOf } from '../src/data/sets.ts';

/** `it`, or, where the need is not met, a test that is skipped with the reason in its name: with DBENCH_NO_SKIP=1 that fails the run. */
export const onlyIf = (met: boolean, reason: string) => (name: string, test: () => Promise<void>) =>
  it.skipIf(!met)(met ? name : `${name} (${reason})`, test);

/** For tests on data that is neither part of the repository nor of any registry. */
export function onlyWith(set: string) {
  const folder = dataFolder();
  const { here } = presence(folder, collectionOf(set));
  return onlyIf(here, `${set} is not in ${folder}; DBENCH_DATA names a folder with it`);
}
