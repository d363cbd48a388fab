import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';
import { resolve } from '../experiment/experiment.ts';
import type { Experiment } from '../experiment/schema.ts';
import type { Comparison, Report } from './report.ts';

/** An experiment that gives the same runs again. */
export interface Recipe {
  readonly title: string;
  /** As it can stand in a file. */
  readonly yaml: string;
  readonly file: string;
  readonly seeds: readonly number[];
  readonly command: 'run' | 'compare';
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

function recipesOf(report: Report, { label, groups }: Comparison): Recipe[] {
  const own = groups.map((index) => report.groups[index]!);
  const experiments = own.map(({ runs }) => report.runs[runs[0]!]!.experiment);
  const seeds = [...new Set(own.flatMap((group) => group.seeds))].sort((a, b) => a - b);
  const file = together(
    'comparison',
    experiments.map((experiment) => ({ ...experiment, seed: seeds[0]! })),
  );
  if (
    experiments.length > 1 &&
    same(
      file,
      experiments.map((experiment) => ({ ...experiment, seed: seeds[0]! })),
    )
  )
    return [{ title: label, yaml: stringify(file), file: `${slug(label)}.yaml`, seeds, command: 'compare' }];
  return own.map((group, i) => ({
    title: group.label,
    yaml: stringify(experiments[i]),
    file: `${slug(group.label)}.yaml`,
    seeds: group.seeds,
    command: 'run',
  }));
}

/** One file for each comparison, or for each group where one file cannot say it. */
export function recipes(report: Report): Recipe[] {
  return report.comparisons.flatMap((comparison) => recipesOf(report, comparison));
}

/** The commands that make the runs again from these files. */
export function commands(all: readonly Recipe[]): string[] {
  const runs = all.flatMap(({ file, seeds, command }) =>
    seeds.map((seed) => `npx dbench ${command} ${file}${seeds.length > 1 ? ` --set seed=${seed}` : ''}`),
  );
  return [...runs, 'npx dbench report --html report.html'];
}
