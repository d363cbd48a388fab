import { isDeepStrictEqual } from 'node:util';
import { byContent } from '../experiment/files.ts';
import { unmeasured } from '../experiment/network.ts';
import { flatten } from '../experiment/path.ts';
import type { Experiment } from '../experiment/schema.ts';

/** The paths at which some of these settings differ. */
export function differences(all: readonly unknown[]): string[] {
  const maps = all.map((settings) => flatten(settings));
  const paths = new Set(maps.flatMap((map) => [...map.keys()]));
  return [...paths].filter((path) => maps.some((map) => !isDeepStrictEqual(map.get(path), maps[0]!.get(path))));
}

/** `batch = 8, data.partition.kind = iid` */
export function describe(settings: unknown, paths: readonly string[]): string {
  const map = flatten(settings);
  const show = (value: unknown) => (typeof value === 'string' ? shortened(value) : JSON.stringify(value));
  return paths.flatMap((path) => (map.has(path) ? [`${path} = ${show(map.get(path))}`] : [])).join(', ');
}

/** Of a checksum the first digits are enough to tell files apart. */
const shortened = (text: string) => (/^[0-9a-f]{64}$/.test(text) ? text.slice(0, 8) : text);

/** What is to be learned, and how long: accuracies are comparable only if this is equal. */
export const taskOf = ({ data, model, batch, epochs, evaluation }: Experiment) => ({
  data: byContent(data),
  model: byContent(model),
  batch,
  epochs,
  evaluation: { replicas: evaluation.replicas, samples: evaluation.samples },
});

/** Of this, what holds at every scale: batch and epochs may go with the number of replicas. */
export const subjectOf = ({ data, model }: Experiment) => ({ data: { kind: data.kind }, model: byContent(model) });

/** All that decides a run but the seed. */
export function withoutSeed(experiment: Experiment) {
  const { seed: _, description: __, ...rest } = unmeasured(experiment);
  return byContent(rest);
}
