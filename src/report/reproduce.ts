import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';
import { resolve } from '../experiment/experiment.ts';
import type { Experiment } from '../experiment/schema.ts';
import type { Report } from './report.ts';

/** An experiment that gives the same runs again. */
export interface Recipe {
  readonly title: string;
  /** As it can stand in a file. */
  readonly yaml: string;
  readonly file: string;
}

type Data = { readonly [key: string]: unknown };

const slug = (text: string) => text.replaceAll(/[^\w.-]+/g, '-');

/** What all have in common, and a variant for each with what is its own. */
function together(name: string, experiments: readonly Experiment[]): Data {
  const all = experiments as readonly Data[];
  const keys = [...new Set(all.flatMap((experiment) => Object.keys(experiment)))].filter((key) => key !== 'name');
  const differing = keys.filter((key) => all.some((experiment) => !isDeepStrictEqual(experiment[key], all[0]![key])));
  const pick = (experiment: Data, wanted: readonly string[]) =>
    Object.fromEntries(wanted.filter((key) => key in experiment).map((key) => [key, experiment[key]]));
  return {
    name,
    ...pick(
      all[0]!,
      keys.filter((key) => !differing.includes(key)),
    ),
    compare: all.map((experiment) => ({ name: experiment.name, ...pick(experiment, differing) })),
  };
}

/** Whether a file says the same as the experiments it was made from. */
function same(data: Data, experiments: readonly Experiment[]): boolean {
  try {
    return isDeepStrictEqual(
      JSON.parse(JSON.stringify(resolve(data, 'recipe'))),
      JSON.parse(JSON.stringify(experiments)),
    );
  } catch {
    return false;
  }
}

/** What gives these experiments again at every seed: variants, and a sweep over seeds and scales if there are several. */
function fileOf(scales: readonly (readonly Experiment[])[], seeds: readonly number[]): Data {
  const variants = scales[0]!.map((experiment) => ({ ...experiment, seed: seeds[0]! }));
  const sweep = {
    ...(seeds.length > 1 ? { seed: seeds } : {}),
    ...(scales.length > 1 ? { replicas: scales.map(([first]) => first!.replicas) } : {}),
  };
  return {
    ...(variants.length > 1 ? together('comparison', variants) : variants[0]!),
    ...(Object.keys(sweep).length > 0 ? { sweep } : {}),
  };
}

const recipeOf = (title: string, file: Data): Recipe => ({
  title,
  yaml: stringify(file),
  file: `${slug(title)}.yaml`,
});

/** One file for all runs, for each comparison, or for each group: the first that says the same. */
export function recipes({ comparisons, groups, runs }: Report): Recipe[] {
  const parts = comparisons.map(({ label, groups: indices }) => {
    const own = indices.map((index) => groups[index]!);
    const experiments = own.map((group) => runs[group.runs[0]!]!.experiment);
    return { label, own, experiments, seeds: [...new Set(own.flatMap(({ seeds }) => seeds))].sort((a, b) => a - b) };
  });
  const joint = (some: typeof parts): Recipe | undefined => {
    const [{ seeds }] = some as [(typeof parts)[number]];
    const scales = some.map(({ experiments }) => experiments);
    const wanted = seeds.flatMap((seed) => scales.flat().map((experiment) => ({ ...experiment, seed })));
    const file = fileOf(scales, seeds);
    return some.every((part) => isDeepStrictEqual(part.seeds, seeds)) && same(file, wanted)
      ? recipeOf(some.map(({ label }) => label).join(', '), file)
      : undefined;
  };
  const whole = parts.length > 1 ? joint(parts) : undefined;
  if (whole !== undefined) return [whole];
  return parts.flatMap((part) => {
    const one = part.own.length > 1 ? joint([part]) : undefined;
    if (one !== undefined) return [one];
    return part.own.map(({ label, seeds }, i) => recipeOf(label, fileOf([[part.experiments[i]!]], seeds)));
  });
}

/** The commands that make the runs again from these files, in a folder of their own. */
export function commands(all: readonly Recipe[]): string[] {
  return [...all.map(({ file }) => `npx dbench run ${file} --runs again`), 'npx dbench report again --html again.html'];
}
