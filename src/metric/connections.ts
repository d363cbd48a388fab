import type { Experiment } from '../experiment/schema.ts';
import type { RunSeries, Series } from './series.ts';

/**
 * Neighbours that a replica averages with in each step. Consensus control averages as often as it needs in a step: each time counts,
 * so that a ring with ten gossips per step is no sparse topology.
 */
export function connectionsOf(
  { consensus }: Pick<Experiment, 'consensus'>,
  { steps }: { readonly steps: Pick<RunSeries['steps'], 'connections' | 'gossips'> },
): Series {
  return consensus.kind === 'none'
    ? steps.connections
    : steps.connections.map((neighbours, index) => neighbours * steps.gossips[index]!);
}
