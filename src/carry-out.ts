import type { Planned } from './experiment/experiment.ts';
import type { Experiment } from './experiment/schema.ts';
import { type Progress, type RunOptions, resume, run } from './run.ts';
import { type Run, type Standing, standing } from './store/runs.ts';
import { alone } from './transport/world.ts';

export interface CarryOutOptions extends RunOptions {
  /**
   * What an experiment has come to before: what has ended is left alone, the rest is resumed. Unless given, runs are found by their
   * settings, so that the same list again finishes what is left; `() => undefined` starts everything anew.
   */
  readonly earlier?: ((experiment: Experiment) => Standing | undefined) | undefined;
}

/** What became of a planned run. Without a run and a failure it was not reached: all was stopped, or ranks were lost. */
export interface RunOutcome {
  readonly planned: Planned;
  /** As it is stored, if that far; on ranks other than 0 only if it was there before. */
  readonly run?: Run | undefined;
  readonly failure?: unknown;
  /** Whether ranks were lost on the way. No other run can follow: it would need all of them. */
  readonly lost?: boolean;
}

/** What happens while a list of runs is carried out: of each its beginning, unless nothing is left to do, its progress, its outcome. */
export type Carried =
  | { readonly type: 'begin'; readonly planned: Planned; readonly index: number }
  | { readonly type: 'progress'; readonly progress: Progress }
  | { readonly type: 'outcome'; readonly outcome: RunOutcome; readonly index: number };

/**
 * Carries out the runs of a plan one after the other. One that fails does not keep the others from running, unless several processes
 * work together: those that did not fail would wait.
 */
export async function* carryOut(planned: readonly Planned[], options: CarryOutOptions): AsyncGenerator<Carried> {
  const { world = alone, signal } = options;
  let lost = false;
  for (const [index, each] of (await world.share(planned)).entries()) {
    const left: boolean = lost || (await world.share(signal?.aborted === true));
    const outcome: RunOutcome = left ? { planned: each } : yield* carryOne(each, index, options);
    lost ||= outcome.lost === true;
    yield { type: 'outcome', outcome, index };
  }
}

async function* carryOne(
  planned: Planned,
  index: number,
  options: CarryOutOptions,
): AsyncGenerator<Carried, RunOutcome> {
  const { world = alone, root, earlier = (experiment) => standing(root, experiment) } = options;
  let stored: Run | undefined;
  let lost = false;
  try {
    const found = await world.share(world.rank === 0 ? (earlier(planned.experiment) ?? null) : null);
    stored = found?.run;
    if (found !== null && found.status !== 'stopped' && found.status !== 'interrupted') return { planned, run: stored };
    yield { type: 'begin', planned, index };
    for await (const progress of stored === undefined ? run(planned.experiment, options) : resume(stored, options)) {
      if (progress.type === 'run') stored = progress.run;
      if (progress.type === 'lost') lost = true;
      yield { type: 'progress', progress };
    }
    return { planned, run: stored, lost };
  } catch (failure) {
    if (world.size > 1) throw failure;
    return { planned, run: stored, failure };
  }
}
