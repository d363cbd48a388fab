import { Random } from '../../base/random.ts';
import { Grouping, type StepWait } from './cost.ts';
import { Matching } from './matching.ts';
import { classesOf, type ScheduleProblem, shareOf } from './problem.ts';

export interface Assignment {
  readonly cost: StepWait;
  /** stages × k: the devices of each stage; the i-th of every stage form a pipeline. */
  readonly stages: readonly (readonly number[])[];
}

/** The best division found from all starts, with about so many swaps tried; a pure function of its arguments. */
export function assign(problem: ScheduleProblem, seed: number, swaps = 10_000): Assignment {
  const descent = new Descent(problem, seed, swaps);
  let best: Grouping | undefined;
  const keep = (division: Grouping) => {
    if (best === undefined || division.cost.total < best.cost.total) best = division;
  };
  for (const start of startsOf(problem)) keep(descent.from(start));
  // Then from the best with a few devices at random places, as long as swaps are left.
  while (!descent.spent) keep(descent.from(descent.shaken(best!)));
  return pipelinesOf(best!);
}

/** Costs of divisions drawn at random, each with its best matching and order. */
export function randomCosts(problem: ScheduleProblem, seed: number, count: number): number[] {
  const perGroup = problem.devices / problem.stages;
  return Array.from({ length: count }, (_, draw) => {
    const order = new Random(seed, 'schedule', 1, draw).permutation(problem.devices);
    const groupOf = new Int32Array(problem.devices);
    for (const [place, device] of order.entries()) groupOf[device] = Math.floor(place / perGroup);
    return new Grouping(problem, groupOf).cost.total;
  });
}

/** Devices in the order in which they are listed, stage by stage, the i-th of each stage joined: what is had without a scheduler. */
export function listedCost(problem: ScheduleProblem): StepWait {
  const { devices, stages, hop } = problem;
  const perGroup = devices / stages;
  let [data, pipeline] = [0, 0];
  for (let g = 0; g < stages; g++) {
    const group = Array.from({ length: perGroup }, (_, i) => g * perGroup + i);
    data = Math.max(data, shareOf(problem, group));
    if (g > 0) pipeline += Math.max(...group.map((device) => hop[device * devices + device - perGroup]!));
  }
  return { data, pipeline, total: data + 2 * pipeline };
}

/** Swaps of two devices for as long as one helps. */
class Descent {
  readonly #problem: ScheduleProblem;
  readonly #classes: readonly number[];
  readonly #seed: number;
  #left: number;
  #descents = 0;

  constructor(problem: ScheduleProblem, seed: number, swaps: number) {
    this.#problem = problem;
    this.#classes = classesOf(problem);
    this.#seed = seed;
    this.#left = problem.stages === 1 || new Set(this.#classes).size === 1 ? 0 : swaps;
  }

  get spent(): boolean {
    return this.#left <= 0;
  }

  from(groupOf: ArrayLike<number>): Grouping {
    const division = new Grouping(this.#problem, groupOf);
    const { devices } = this.#problem;
    const order = new Random(this.#seed, 'schedule', 2, this.#descents++).permutation(devices);
    for (let better = true; better && !this.spent; ) {
      better = false;
      for (let i = 0; i < devices && !this.spent; i++)
        for (let j = 0; j < i; j++) {
          const [a, b] = [order[i]!, order[j]!];
          if (this.#classes[a] === this.#classes[b] || division.groupOf(a) === division.groupOf(b)) continue;
          this.#left -= 1;
          if (division.swapIfBetter(a, b)) better = true;
        }
    }
    return division;
  }

  shaken(division: Grouping): Int32Array {
    const { devices } = this.#problem;
    const random = new Random(this.#seed, 'schedule', 3, this.#descents);
    const groupOf = Int32Array.from({ length: devices }, (_, d) => division.groupOf(d));
    for (let swap = 0; swap < 2 + random.below(Math.max(1, devices >> 3)); swap++) {
      const [a, b] = [random.below(devices), random.below(devices)];
      [groupOf[a], groupOf[b]] = [groupOf[b]!, groupOf[a]!];
    }
    // Nothing to find where devices are alike; the loop ends all the same.
    this.#left -= 1;
    return groupOf;
  }
}

/**
 * Divisions to start from: devices in the order of clusters of fast links, for each speed that tells clusters apart, with a
 * cluster kept together, spread over groups that fill up one after the other, or over the emptiest groups.
 */
function startsOf(problem: ScheduleProblem): Int32Array[] {
  const { devices, stages } = problem;
  const perGroup = devices / stages;
  const starts: Int32Array[] = [];
  const known = new Set<string>();
  for (const clusters of clusterings(problem)) {
    const together = new Int32Array(devices);
    for (const [place, device] of clusters.flat().entries()) together[device] = Math.floor(place / perGroup);
    const spread = [1, -1].map((sign) => {
      const groupOf = new Int32Array(devices);
      const filled = new Array<number>(stages).fill(0);
      for (const cluster of clusters)
        for (let at = 0; at < cluster.length; ) {
          const open = filled.map((_, g) => g).filter((g) => filled[g]! < perGroup);
          open.sort((a, b) => sign * (filled[b]! - filled[a]!) || a - b);
          for (const g of open.slice(0, cluster.length - at)) {
            groupOf[cluster[at++]!] = g;
            filled[g]! += 1;
          }
        }
      return groupOf;
    });
    for (const start of [together, ...spread]) {
      const key = start.join();
      if (!known.has(key)) starts.push(start);
      known.add(key);
    }
  }
  return starts;
}

const mostClusterings = 16;

/** Devices joined by links up to a cost, for costs at which the number of clusters changes; largest clusters first. */
function clusterings({ devices, hop }: ScheduleProblem): number[][][] {
  const clusterOf = Int32Array.from({ length: devices }, (_, d) => d);
  const edges: (readonly [cost: number, a: number, b: number])[] = [];
  for (let a = 0; a < devices; a++) for (let b = 0; b < a; b++) edges.push([hop[a * devices + b]!, a, b]);
  edges.sort((x, y) => x[0] - y[0]);
  const found = [[Array.from(clusterOf)]];
  for (let e = 0; e < edges.length; ) {
    const cost = edges[e]![0];
    let joined = false;
    for (; e < edges.length && edges[e]![0] === cost; e++) {
      const [kept, lost] = [clusterOf[edges[e]![1]]!, clusterOf[edges[e]![2]]!];
      if (kept === lost) continue;
      joined = true;
      for (let d = 0; d < devices; d++) if (clusterOf[d] === lost) clusterOf[d] = kept;
    }
    if (!joined) continue;
    const clusters = new Map<number, number[]>();
    for (const [d, cluster] of clusterOf.entries()) clusters.set(cluster, [...(clusters.get(cluster) ?? []), d]);
    found.push([...clusters.values()].sort((x, y) => y.length - x.length || x[0]! - y[0]!));
  }
  return found.slice(-mostClusterings);
}

/** Stages in the order of the cheapest path, devices in the order of the pipelines they belong to. */
function pipelinesOf(division: Grouping): Assignment {
  const { problem, groups, cost } = division;
  const matching = new Matching(problem.devices / problem.stages);
  const stages: number[][] = [];
  for (const g of division.order()) {
    const before = stages.at(-1);
    const group = Array.from(groups[g]!);
    if (before === undefined) {
      stages.push(group);
      continue;
    }
    matching.solve(problem.hop, problem.devices, before, group);
    const placed = new Array<number>(group.length);
    for (const [j, i] of matching.partner.entries()) placed[i] = group[j]!;
    stages.push(placed);
  }
  return { cost, stages };
}
