import { planFor } from '../algorithm/choose.ts';
import type { Plan } from '../algorithm/method.ts';
import type { Experiment } from '../experiment/schema.ts';
import { type EdgeSets, edgeSets } from '../topology/edges.ts';
import { topologyAt } from '../topology/schedule.ts';
import { buildTopology } from '../topology/topology.ts';

type Settings = Pick<Experiment, 'algorithm' | 'topology' | 'replicas' | 'epochs' | 'seed'>;

/** The method of a run, and the edges it uses if its messages are for single neighbours. */
export function planOfRun({ algorithm, topology, replicas, epochs, seed }: Settings): {
  readonly plan: Plan;
  readonly edges: EdgeSets | undefined;
} {
  const plan = planFor(algorithm);
  const choice = plan.method.edges?.of;
  if (choice === undefined) return { plan, edges: undefined };
  const edges = edgeSets(buildTopology(topologyAt(topology, replicas, 0, epochs), replicas, seed), choice);
  return { plan: planFor(algorithm, { replicas, sets: edges.partners.length }), edges };
}
