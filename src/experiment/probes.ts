import type { Experiment } from './schema.ts';

type Given = Pick<Experiment, 'replicas' | 'probes'>;

/** Norms of more replicas than these are kept at fewer steps, so that a database grows no faster than with so many. */
export const mostNormed = 1024;

/** At every how many of the probed steps norms are measured, unless it is given; undefined: at all of them. */
const chosenFor = ({ replicas, probes }: Given): number | undefined =>
  probes.norms && replicas > mostNormed ? Math.ceil(replicas / mostNormed) : undefined;

/** With what is chosen by itself. */
export function withProbes<T extends Given>(run: T): T {
  const normsEvery = run.probes.normsEvery ?? chosenFor(run);
  return normsEvery === undefined ? run : { ...run, probes: { ...run.probes, normsEvery } };
}

/** Without what would be chosen by itself: it makes no other run of it. */
export function unchosen<T extends Given>(run: T): T {
  const { normsEvery, ...probes } = run.probes;
  return normsEvery === chosenFor(run) ? { ...run, probes } : run;
}
