import type { Dataset } from './dataset.ts';
import { dataFolder } from './folder.ts';
import { limit } from './limit.ts';
import type { DataSettings } from './schema.ts';
import type { ReadContext } from './set.ts';
import { allSets } from './sets.ts';

/**
 * The data an experiment names, checked and in memory. Read it once and post it to the workers: its arrays are shared, not copied.
 */
export async function loadData(
  settings: DataSettings,
  context: Partial<ReadContext> & Pick<ReadContext, 'seed'>,
): Promise<Dataset> {
  const set = allSets.find(({ name }) => name === settings.kind)!;
  const dataset = await set.read(settings as never, { ...context, folder: context.folder ?? dataFolder() });
  return limit(dataset, settings, context.seed);
}
