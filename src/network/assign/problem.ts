/**
 * Devices to pipeline stages and data-parallel groups, by the cost model of Yuan et al., "Decentralized Training of Foundation
 * Models in Heterogeneous Environments" (DT-FM), NeurIPS 2022: N devices, S stages, a group of k = N/S devices per stage.
 */
export interface ScheduleProblem {
  readonly devices: number;
  readonly stages: number;
  /** What gradients of a stage cost two devices of a group, in seconds, row by row: 2(α + 8 c_dp/(k β)). */
  readonly share: Float64Array;
  /** What activations cost between devices of two stages, in seconds, row by row: α + 8 c_pp/β. */
  readonly hop: Float64Array;
}

export interface Links {
  readonly devices: number;
  /** Seconds, row by row. */
  readonly latency: ArrayLike<number>;
  /** Bits per second, row by row. */
  readonly rate: ArrayLike<number>;
}

/** A link is as slow as the slower of its directions. */
export function problemOf(
  links: Links,
  stages: number,
  gradientBytes: number,
  activationBytes: number,
): ScheduleProblem {
  const { devices } = links;
  const perGroup = devices / stages;
  const seconds = (bytes: number) =>
    Float64Array.from({ length: devices * devices }, (_, at) => {
      const [from, to] = [Math.floor(at / devices), at % devices];
      if (from === to) return 0;
      const oneWay = (i: number) => links.latency[i]! + (8 * bytes) / links.rate[i]!;
      return Math.max(oneWay(at), oneWay(to * devices + from));
    });
  return {
    devices,
    stages,
    share: seconds(gradientBytes / perGroup).map((each) => 2 * each),
    hop: seconds(activationBytes),
  };
}

/** How long a group exchanges gradients, in seconds: its slowest member's exchange with all others. */
export function shareOf({ devices, share }: ScheduleProblem, group: ArrayLike<number>): number {
  let slowest = 0;
  for (let i = 0; i < group.length; i++) {
    let sum = 0;
    for (let j = 0; j < group.length; j++) sum += share[group[i]! * devices + group[j]!]!;
    if (sum > slowest) slowest = sum;
  }
  return slowest;
}

/** Devices that no link tells apart: changing their places changes nothing. The class of each. */
export function classesOf({ devices, share, hop }: ScheduleProblem): readonly number[] {
  const alike = (a: number, b: number) => {
    for (let d = 0; d < devices; d++) {
      if (d === a || d === b) continue;
      if (share[a * devices + d] !== share[b * devices + d] || hop[a * devices + d] !== hop[b * devices + d])
        return false;
    }
    return true;
  };
  const first: number[] = [];
  for (let d = 0; d < devices; d++) first.push(first.findIndex((leader, other) => leader === other && alike(other, d)));
  return first.map((leader, d) => (leader < 0 ? d : leader));
}
