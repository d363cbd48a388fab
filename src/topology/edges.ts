import type { Mixing } from './mixing.ts';
import type { Topology } from './topology.ts';

/**
 * The edges of an undirected topology, in sets in which no two of them meet: in each set a replica has one partner or none. What goes over
 * the edges of a set is then one row for each replica, and handing it over is mixing with a matrix of ones.
 */
export interface EdgeSets {
  /** For each set, the matrix that hands each replica its partner's row, and 0 to those without. */
  readonly partners: readonly Mixing[];
  /** For each set, W_ij of each replica's edge; 0 for those without. */
  readonly weights: readonly Float64Array[];
  /** Edges per replica, mean. */
  readonly degree: number;
}

/** All edges, or those of the tree that a breadth-first search from replica 0 finds. */
export type EdgeChoice = 'all' | 'tree';

/** Undirected edges in the order in which a breadth-first search from replica 0 meets them. */
function edgesOf(sources: readonly (readonly number[])[], choice: EdgeChoice): (readonly [number, number])[] {
  const edges: [number, number][] = [];
  const reached = new Set([0]);
  const done = new Set<number>();
  for (const i of reached) {
    for (const j of sources[i]!) {
      if (done.has(j) || (choice === 'tree' && reached.has(j))) continue;
      edges.push([i, j]);
      reached.add(j);
    }
    done.add(i);
  }
  return edges;
}

/** Each edge goes to the first set that both its ends are free in: in a tree, as many sets as the largest degree. */
export function edgeSets(topology: Topology, choice: EdgeChoice): EdgeSets {
  const { n } = topology;
  const edges = edgesOf(topology.round(0).sources, choice);
  const partner: Int32Array[] = [];
  for (const [i, j] of edges) {
    let set = partner.find((each) => each[i]! < 0 && each[j]! < 0);
    if (set === undefined) partner.push((set = new Int32Array(n).fill(-1)));
    [set[i], set[j]] = [j, i];
  }
  const { start, source, weight } = topology.mixing(0);
  const weightOf = (i: number, j: number) => {
    for (let e = start[i]!; e < start[i + 1]!; e++) if (source[e] === j) return weight[e]!;
    return 0;
  };
  return {
    partners: partner.map((of) => ({
      n,
      start: Int32Array.from({ length: n + 1 }, (_, i) => i),
      source: of.map((j, i) => (j < 0 ? i : j)),
      weight: Float64Array.from(of, (j) => (j < 0 ? 0 : 1)),
    })),
    weights: partner.map((of) => Float64Array.from(of, (j, i) => (j < 0 ? 0 : weightOf(i, j)))),
    degree: (2 * edges.length) / n,
  };
}
