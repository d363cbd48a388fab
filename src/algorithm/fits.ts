import { UserError } from '../base/error.ts';
import { buildTopology, type Topology } from '../topology/topology.ts';
import { planFacts } from './facts.ts';
import { planOf } from './method.ts';
import { methods } from './methods.ts';
import { type Need, unmetNeed } from './needs.ts';

/** What to do if a method and a topology do not fit: told when a run is refused. */

/** Usual ones, from the simplest on. */
const usual = ['ring', 'torus', 'exponential', 'complete', 'star', 'one-peer-exponential'] as const;
/** Eigenvalues of larger ones take too long for a message. */
const mostReplicas = 1024;

const fits = (needs: readonly Need[], kind: string, n: number): boolean => {
  try {
    return unmetNeed(needs, buildTopology({ kind }, n, 1)) === undefined;
  } catch (error) {
    // Some kinds do not exist for some n.
    if (error instanceof UserError) return false;
    throw error;
  }
};

const some = (names: readonly string[]) =>
  names.length <= 6 ? names.join(', ') : `${names.slice(0, 5).join(', ')} and ${names.length - 5} more`;

/** Topologies for a method, and methods for a topology; `changes`: it is not the only one of the run. */
export function fitting(needs: readonly Need[], topology: Topology, changes: boolean): string {
  const { n } = topology;
  const kinds = n > mostReplicas ? [] : usual.filter((kind) => fits(needs, kind, n));
  const names = methods
    .map((method) => planOf(method))
    .filter((plan) => planFacts(plan).usesTopology && unmetNeed(plan.needs, topology, changes) === undefined)
    .map((plan) => plan.method.name);
  return [
    ...(kinds.length > 0 ? [`it fits ${some(kinds)}`] : []),
    ...(names.length > 0 ? [`this topology fits ${some(names)}`] : []),
  ].join('; ');
}
