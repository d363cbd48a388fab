import { loadPlan } from '../../src/experiment/experiment.ts';
import type { Experiment } from '../../src/experiment/schema.ts';
import { type Job, keyOf, type StudyRow } from './rows.ts';

/** Every run of the study, in the order in which they are carried out: what is worth most comes first. */

const cells = ['mnist-16', 'mnist-64', 'mnist-256', 'fashion-16', 'lstm-16', 'resnet20-16'] as const;
const small: readonly string[] = ['mnist-16', 'mnist-64'];
const seeds = [1, 2, 3, 4, 5];
/** Variants before this one in base/study.yaml are enough to answer most criteria. */
const coreEnd = 'D_complete';
/** Of these, without which nothing can be said of a cell. */
const key = ['C_complete', 'tether', 'Ada', 'common-4', 'common-8'];
/** The tether at other targets, and at other learning rates together with what it is held against. */
const targets = [0.5, 1, 2, 3];
const rates = [0.5, 2];

/** The second method, registered when the first had failed, and what it is held against: fixed periods with as few bits, and itself without rounding. */
const leash = { kind: 'leash', target: 0.75, bits: 4, fixed: 0, commonMomentum: true };
const second: Readonly<Record<string, object>> = {
  leash,
  'leash-exact': { ...leash, bits: 32 },
  'rounded-1': { ...leash, fixed: 1 },
  'rounded-2': { ...leash, fixed: 2 },
  'rounded-4': { ...leash, fixed: 4 },
};

const plans = new Map<string, ReturnType<typeof loadPlan>>();
function planOf(cell: string) {
  const known = plans.get(cell) ?? loadPlan(new URL(`../../experiments/study-${cell}.yaml`, import.meta.url).pathname);
  plans.set(cell, known);
  return known;
}

const dataOf = ({ data }: Experiment): StudyRow['data'] => (data.partition.kind === 'iid' ? 'alike' : 'skewed');

/** A cell's own variants, in their order. */
const variantsOf = (cell: string): string[] => [...new Set(planOf(cell).map(({ experiment }) => experiment.name))];
const seedsOf = (cell: string) =>
  seeds.filter((seed) => planOf(cell).some(({ experiment }) => experiment.seed === seed));

const grid = (cell: string, variants: readonly string[], given: readonly number[] = [1]): Job[] =>
  variants.flatMap((variant) =>
    given.flatMap((rate) =>
      seedsOf(cell).flatMap((seed) =>
        (['alike', 'skewed'] as const).map((data) => ({ cell, data, variant, rate, seed })),
      ),
    ),
  );

/** Schedules of finished runs, open loop: of another seed, and as many averages evenly spaced. */
const controls = ['yoked', 'uniform'];

export function jobs(): Job[] {
  const core = (cell: string) => {
    const variants = variantsOf(cell);
    const end = variants.indexOf(coreEnd);
    return grid(cell, [...variants.slice(0, end < 0 ? undefined : end), ...controls]);
  };
  const rest = (cell: string) => {
    const variants = variantsOf(cell);
    const end = variants.indexOf(coreEnd);
    return end < 0 ? [] : grid(cell, variants.slice(end));
  };
  const atTargets = (cell: string) =>
    grid(
      cell,
      targets.map((target) => `tether-${target}`),
    );
  const atRates = (cell: string) => grid(cell, ['C_complete', 'tether', 'common-4'], rates);
  const ofSecond = (cell: string) => grid(cell, Object.keys(second)).toSorted((a, b) => a.seed - b.seed);
  // Seed by seed, so that three seeds of all are there before five of some.
  const keyRuns = (cell: string) => grid(cell, [...key, ...controls]).toSorted((a, b) => a.seed - b.seed);
  const inOrder = [
    ...small.flatMap(keyRuns),
    ...['fashion-16', 'lstm-16'].flatMap(keyRuns),
    ...small.flatMap(core),
    ...[...small, 'fashion-16', 'lstm-16'].flatMap(ofSecond),
    ...small.flatMap(atRates),
    ...small.flatMap(atTargets),
    ...small.flatMap(rest),
    ...keyRuns('mnist-256'),
    ...['fashion-16', 'lstm-16', 'mnist-256'].flatMap(core),
    ...['fashion-16', 'mnist-256'].flatMap(atRates),
    ...['fashion-16', 'lstm-16', 'mnist-256'].flatMap(rest),
    ...core(cells.at(-1)!),
    ...ofSecond('mnist-256'),
    ...ofSecond(cells.at(-1)!),
  ];
  return [...new Map(inOrder.map((job) => [keyOf(job), job])).values()];
}

/** The other seed whose schedule is replayed. */
const otherSeed = (seed: number, all: readonly number[]) => all[(all.indexOf(seed) + 1) % all.length]!;

/** The experiment of a job; undefined as long as the run whose schedule it replays is not finished. */
export function experimentOf(job: Job, done: ReadonlyMap<string, StudyRow>): Experiment | undefined {
  const { cell, data, variant, rate, seed } = job;
  const planned = (name: string) =>
    planOf(cell).find(
      ({ experiment }) => experiment.name === name && experiment.seed === seed && dataOf(experiment) === data,
    )!.experiment;
  const at = (experiment: Experiment): Experiment => ({
    ...experiment,
    learningRate: { ...experiment.learningRate, base: rate * experiment.learningRate.base },
  });
  const [, target] = /^tether-([\d.]+)$/.exec(variant) ?? [];
  if (target !== undefined) {
    const tether = planned('tether');
    return at({ ...tether, algorithm: { ...tether.algorithm, target: Number(target) } as Experiment['algorithm'] });
  }
  if (variant in second) return at({ ...planned('common-4'), algorithm: second[variant] as Experiment['algorithm'] });
  if (!controls.includes(variant)) return at(planned(variant));
  const from = variant === 'yoked' ? otherSeed(seed, seedsOf(cell)) : seed;
  const source = done.get(keyOf({ cell, data, variant: 'tether', rate, seed: from }));
  if (source === undefined) return undefined;
  const count = source.after.length;
  const after =
    variant === 'yoked'
      ? source.after
      : [...new Set(source.after.map((_, k) => Math.round(((k + 1) * source.steps) / (count + 1))))];
  const common = planned('common-4');
  const { period: _, ...algorithm } = common.algorithm as { readonly period?: number };
  return at({
    ...common,
    algorithm: { ...algorithm, period: 1, growth: 0, after } as unknown as Experiment['algorithm'],
  });
}
