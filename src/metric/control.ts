import type { Experiment } from '../experiment/schema.ts';
import type { RunSeries } from './series.ts';

/** How consensus control did: in how many steps it held Ξ against a target, and in how many its cap ended it above. */
export interface Control {
  readonly steps: number;
  readonly capped: number;
}

/** Null without consensus control. */
export function controlOf(
  { consensus }: Pick<Experiment, 'consensus'>,
  {
    steps: { gossips, controlledDistance, targetDistance },
  }: { readonly steps: Pick<RunSeries['steps'], 'gossips' | 'controlledDistance' | 'targetDistance'> },
): Control | null {
  if (consensus.kind === 'none') return null;
  const held = Array.from(targetDistance, (target, index) => ({ target, index })).filter(
    ({ target }) => !Number.isNaN(target),
  );
  const capped = held.filter(
    ({ target, index }) => gossips[index]! >= consensus.cap && controlledDistance[index]! > target,
  );
  return { steps: held.length, capped: capped.length };
}
