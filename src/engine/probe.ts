import type { Experiment } from '../experiment/schema.ts';
import type { Rows } from '../kernel/memory.ts';
import type { Mixing } from '../topology/mixing.ts';
import type { Transport } from '../transport/transport.ts';
import { distances, edgeDistances, perReplica, tensorNorms } from './measure.ts';
import type { Measured } from './measured.ts';

/** What the experiment's probes find in rows that are about to be averaged; with which W, if they are, and a matrix that holds nothing. */
export type Probe = (
  step: number,
  rows: Rows,
  spare: Rows,
  mixing: Mixing | undefined,
) => Partial<Pick<Measured, 'norms' | 'distance' | 'replicaDistance' | 'edges'>>;

/**
 * @param offsets where each tensor begins, and where the last one ends
 * @param equal replicas that stay equal have no distances to measure
 */
export function probeOf(
  transport: Transport,
  { everySteps, norms, normsEvery = 1, distance, edges }: Experiment['probes'],
  offsets: readonly number[],
  equal: boolean,
): Probe {
  const none = () => ({ distance: 0, replicaDistance: perReplica(transport, () => 0) });
  return (step, rows, spare, mixing) => {
    if (step % everySteps !== 0) return {};
    const byTensor =
      norms && step % (everySteps * normsEvery) === 0 ? { norms: tensorNorms(transport, rows, offsets) } : {};
    const apart = distance ? (equal ? none() : distances(transport, rows)) : {};
    const found = edges && mixing !== undefined ? edgeDistances(transport, mixing, rows, spare) : null;
    return { ...byTensor, ...apart, ...(found && { edges: { type: 'edges', step, ...found } }) };
  };
}
