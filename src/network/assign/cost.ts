import { Matching } from './matching.ts';
import { cheapestPath } from './path.ts';
import { type ScheduleProblem, shareOf } from './problem.ts';

/** What a step waits for, in seconds. */
export interface StepWait {
  /** The slowest group's exchange of gradients. */
  readonly data: number;
  /** Activations along the cheapest order of the groups, one way. */
  readonly pipeline: number;
  /** data + 2 · pipeline. */
  readonly total: number;
}

/** A division of the devices into groups, with its cost kept up to date as devices change places. */
export class Grouping {
  readonly problem: ScheduleProblem;
  /** Groups of devices, one after the other. */
  readonly groups: readonly Int32Array[];
  readonly #where: Int32Array;
  readonly #share: Float64Array;
  /** The dearest pair of the best matching between two groups, row by row. */
  readonly #between: Float64Array;
  readonly #matching: Matching;
  #cost: StepWait;

  /** `groupOf` each device. */
  constructor(problem: ScheduleProblem, groupOf: ArrayLike<number>) {
    const { devices, stages } = problem;
    this.problem = problem;
    this.#where = Int32Array.from(groupOf);
    const members: number[][] = Array.from({ length: stages }, () => []);
    for (let d = 0; d < devices; d++) members[groupOf[d]!]!.push(d);
    this.groups = members.map((each) => Int32Array.from(each));
    this.#share = Float64Array.from(this.groups, (group) => shareOf(problem, group));
    this.#between = new Float64Array(stages * stages);
    this.#matching = new Matching(devices / stages);
    for (let g = 0; g < stages; g++) this.#match(g);
    this.#cost = this.#sum();
  }

  get cost(): StepWait {
    return this.#cost;
  }

  /** All groups and all pairs of them: tells divisions of equal cost apart, so that a search crosses plateaus. */
  get sum(): number {
    let sum = 0;
    for (const each of this.#share) sum += each;
    for (const each of this.#between) sum += each;
    return sum;
  }

  groupOf(device: number): number {
    return this.#where[device]!;
  }

  /** The groups in the order of the pipeline's stages. */
  order(): readonly number[] {
    return cheapestPath(this.#between, this.problem.stages).stops;
  }

  /**
   * Two devices change places if that costs less than (total, sum) now; says whether they did. Gradients alone can be too
   * dear: then no pair is matched anew.
   */
  swapIfBetter(a: number, b: number): boolean {
    const { stages } = this.problem;
    const { total } = this.#cost;
    const { sum } = this;
    const [g, h] = [this.groupOf(a), this.groupOf(b)];
    this.#exchange(a, b);
    const shares = [this.#share[g]!, this.#share[h]!] as const;
    this.#share[g] = shareOf(this.problem, this.groups[g]!);
    this.#share[h] = shareOf(this.problem, this.groups[h]!);
    if (Math.max(this.#share[g]!, this.#share[h]!) > total) {
      [this.#share[g], this.#share[h]] = shares;
      this.#exchange(a, b);
      return false;
    }
    const rows = [g, h].map((each) => this.#between.slice(each * stages, (each + 1) * stages));
    this.#match(g);
    this.#match(h);
    const before = this.#cost;
    this.#cost = this.#sum();
    const margin = 1e-12 * total;
    const better =
      this.#cost.total < total - margin || (this.#cost.total <= total + margin && this.sum < sum * (1 - 1e-12));
    if (better) return true;
    this.#exchange(a, b);
    [this.#share[g], this.#share[h]] = shares;
    this.#cost = before;
    [g, h].forEach((each, i) => {
      rows[i]!.forEach((value, other) => {
        this.#between[each * stages + other] = value;
        this.#between[other * stages + each] = value;
      });
    });
    return false;
  }

  #exchange(a: number, b: number): void {
    const [g, h] = [this.groupOf(a), this.groupOf(b)];
    const [groupA, groupB] = [this.groups[g]!, this.groups[h]!];
    const [i, j] = [groupA.indexOf(a), groupB.indexOf(b)];
    groupA[i] = b;
    groupB[j] = a;
    this.#where[a] = h;
    this.#where[b] = g;
  }

  #match(g: number): void {
    const { devices, stages, hop } = this.problem;
    for (let h = 0; h < stages; h++) {
      if (h === g) continue;
      const value = this.#matching.solve(hop, devices, this.groups[g]!, this.groups[h]!);
      this.#between[g * stages + h] = value;
      this.#between[h * stages + g] = value;
    }
  }

  #sum(): StepWait {
    const data = this.#share.reduce((most, each) => Math.max(most, each), 0);
    const pipeline = cheapestPath(this.#between, this.problem.stages).cost;
    return { data, pipeline, total: data + 2 * pipeline };
  }
}
