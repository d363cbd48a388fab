import type { RunSeries, Series } from './series.ts';

/**
 * Neighbours that a replica averages with in each step. Consensus control averages as often as it needs in a step: each time counts,
 * so that a ring with ten gossips per step is no sparse topology. `runs.connections` of the tidy tables is its mean.
 */
export const connectionsOf = ({
  steps,
}: {
  readonly steps: Pick<RunSeries['steps'], 'connections' | 'gossips'>;
}): Series => steps.connections.map((neighbours, index) => neighbours * Math.max(1, steps.gossips[index]!));
