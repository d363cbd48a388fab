/** An edge of a weighted graph: from → to takes so long. */
export interface WeightedEdge {
  readonly from: number;
  readonly to: number;
  readonly ns: number;
}

export interface Cycle {
  /** Largest mean weight over all cycles. */
  readonly meanNs: number;
  /** A cycle with that mean, in the direction of its edges, each node once. */
  readonly nodes: readonly number[];
}

/**
 * The largest mean over cycles and a cycle that has it. Karp, "A characterization of the minimum cycle mean in a digraph", 1978:
 *
 *     λ = max_v min_k (D_n(v) − D_k(v)) / (n − k)
 *
 * with D_k(v) the heaviest walk of k edges to v, from anywhere. The walk of n edges to the v that attains it contains such a cycle. O(n·edges).
 */
export function largestCycleMean(n: number, edges: readonly WeightedEdge[]): Cycle | undefined {
  const heaviest = [new Float64Array(n)];
  const via: Int32Array[] = [];
  for (let k = 1; k <= n; k++) {
    const [before, now] = [heaviest[k - 1]!, new Float64Array(n).fill(Number.NEGATIVE_INFINITY)];
    const last = new Int32Array(n).fill(-1);
    for (const { from, to, ns } of edges)
      if (before[from]! + ns > now[to]!) {
        now[to] = before[from]! + ns;
        last[to] = from;
      }
    heaviest.push(now);
    via.push(last);
  }
  const whole = heaviest[n]!;
  let [meanNs, at] = [Number.NEGATIVE_INFINITY, -1];
  for (let v = 0; v < n; v++) {
    if (whole[v] === Number.NEGATIVE_INFINITY) continue;
    let least = Number.POSITIVE_INFINITY;
    for (let k = 0; k < n; k++) least = Math.min(least, (whole[v]! - heaviest[k]![v]!) / (n - k));
    if (least > meanNs) [meanNs, at] = [least, v];
  }
  if (at < 0) return undefined;
  const walk = [at];
  for (let k = n; k > 0; k--) walk.push(via[k - 1]![walk.at(-1)!]!);
  return { meanNs, nodes: cycleIn(walk.reverse(), edges, meanNs) };
}

/** The largest cycle mean alone, of a graph whose weights change: for those who ask often. */
export function cycleMeans(n: number, from: Int32Array, to: Int32Array): (ns: Float64Array) => number {
  const heaviest = new Float64Array((n + 1) * n);
  return (ns) => {
    heaviest.fill(Number.NEGATIVE_INFINITY, n);
    for (let k = 0; k < n; k++) {
      const [before, now] = [k * n, (k + 1) * n];
      for (let e = 0; e < ns.length; e++) {
        const weight = heaviest[before + from[e]!]! + ns[e]!;
        if (weight > heaviest[now + to[e]!]!) heaviest[now + to[e]!] = weight;
      }
    }
    let mean = Number.NEGATIVE_INFINITY;
    for (let v = 0; v < n; v++) {
      const whole = heaviest[n * n + v]!;
      if (whole === Number.NEGATIVE_INFINITY) continue;
      let least = Number.POSITIVE_INFINITY;
      for (let k = 0; k < n; k++) least = Math.min(least, (whole - heaviest[k * n + v]!) / (n - k));
      mean = Math.max(mean, least);
    }
    return mean;
  };
}

/** Of the cycles that a walk closes, one with this mean. */
function cycleIn(walk: readonly number[], edges: readonly WeightedEdge[], meanNs: number): readonly number[] {
  const weight = new Map<string, number>();
  for (const { from, to, ns } of edges) {
    const key = `${from} ${to}`;
    weight.set(key, Math.max(weight.get(key) ?? Number.NEGATIVE_INFINITY, ns));
  }
  const total = (nodes: readonly number[]) =>
    nodes.reduce((sum, from, place) => sum + weight.get(`${from} ${nodes[(place + 1) % nodes.length]!}`)!, 0);
  const open: number[] = [];
  let best: { nodes: readonly number[]; mean: number } | undefined;
  for (const node of walk) {
    const place = open.indexOf(node);
    if (place >= 0) {
      const nodes = open.splice(place);
      const mean = total(nodes) / nodes.length;
      if (best === undefined || mean > best.mean) best = { nodes, mean };
      if (mean >= meanNs * (1 - 1e-12)) return nodes;
    }
    open.push(node);
  }
  return best?.nodes ?? [];
}
