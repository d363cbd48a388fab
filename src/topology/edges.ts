import { type Mixing, weightOf } from './mixing.ts';
import type { Topology } from './topology.ts';

/**
 * The edges of a topology, in sets in which no two of them meet: in each set a replica has one partner or none. What goes over
 * the edges of a set is then one row for each replica, and handing it over is mixing with a matrix of ones. Of directed edges, a replica hears one
 * other or none in each set, and is heard by one or none.
 */
export interface EdgeSets {
  /** For each set, the matrix that hands each replica its partner's row, and 0 to those without. */
  readonly partners: readonly Mixing[];
  /** For each set, W_ij of each replica's edge, of directed ones the share that the sender gives; 0 for those without. */
  readonly weights: readonly Float64Array[];
  /** What a replica keeps of itself when it divides itself among those who hear it. */
  readonly shares: Float64Array;
  /** Edges per replica, mean. */
  readonly degree: number;
}

/** All edges, or those of the tree that a breadth-first search from replica 0 finds; or each in its direction, from who is heard to who hears. */
export type EdgeChoice = 'all' | 'tree' | 'heard';

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
  const { sources } = topology.round(0);
  const partner = choice === 'heard' ? directedSets(sources) : undirectedSets(n, edgesOf(sources, choice));
  const push = topology.push(0);
  const weights = choice === 'heard' ? push : topology.mixing(0);
  return {
    partners: partner.map((of) => ({
      n,
      start: Int32Array.from({ length: n + 1 }, (_, i) => i),
      source: of.map((j, i) => (j < 0 ? i : j)),
      weight: Float64Array.from(of, (j) => (j < 0 ? 0 : 1)),
    })),
    weights: partner.map((of) => Float64Array.from(of, (j, i) => (j < 0 ? 0 : weightOf(weights, i, j)))),
    shares: Float64Array.from({ length: n }, (_, i) => weightOf(push, i, i)),
    degree: partner.reduce((sum, of) => sum + of.filter((j) => j >= 0).length, 0) / n,
  };
}

function undirectedSets(n: number, edges: readonly (readonly [number, number])[]): Int32Array[] {
  const partner: Int32Array[] = [];
  for (const [i, j] of edges) {
    let set = partner.find((each) => each[i]! < 0 && each[j]! < 0);
    if (set === undefined) partner.push((set = new Int32Array(n).fill(-1)));
    [set[i], set[j]] = [j, i];
  }
  return partner;
}

function directedSets(sources: readonly (readonly number[])[]): Int32Array[] {
  const sets: { readonly hears: Int32Array; readonly heard: Set<number> }[] = [];
  for (const [i, row] of sources.entries())
    for (const j of row) {
      let set = sets.find(({ hears, heard }) => hears[i]! < 0 && !heard.has(j));
      if (set === undefined) sets.push((set = { hears: new Int32Array(sources.length).fill(-1), heard: new Set() }));
      set.hears[i] = j;
      set.heard.add(j);
    }
  return sets.map(({ hears }) => hears);
}
