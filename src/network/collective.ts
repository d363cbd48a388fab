import type { Network } from './network.ts';

/** Edges that carry messages at the same time. */
type Edge = readonly [from: number, to: number];

/** How long the slowest of messages takes that are sent at once, in nanoseconds, not rounded; those on one port share it. */
function slowest(network: Network, edges: readonly Edge[], rowBytes: number): number {
  const [up, down] = [new Map<number, number>(), new Map<number, number>()];
  const ways = edges.flatMap(([from, to]) => network.ways(from, to));
  const bytes = rowBytes / network.stages;
  for (const way of ways) {
    up.set(way.up, (up.get(way.up) ?? 0) + 1);
    down.set(way.down, (down.get(way.down) ?? 0) + 1);
  }
  const times = ways.map((way) => {
    const [sent, heard] = [
      network.upRates[way.up]! / up.get(way.up)!,
      network.downRates[way.down]! / down.get(way.down)!,
    ];
    return network.overheadNs + way.latencyNs + (bytes * 1e9) / Math.min(way.rate, sent, heard);
  });
  return times.reduce((most, time) => Math.max(most, time), 0);
}

const circle = (members: readonly number[]): Edge[] =>
  members.map((from, place) => [from, members[(place + 1) % members.length]!]);

/** 2(n−1) times an n-th of the row to the next one. */
function ringNs(network: Network, members: readonly number[], bytes: number): number {
  const { length: n } = members;
  return n === 1 ? 0 : 2 * (n - 1) * slowest(network, circle(members), bytes / n);
}

/** The sum goes up a binomial tree and comes down again. */
function treeNs(network: Network, bytes: number): number {
  let time = 0;
  for (let step = 1; step < network.n; step *= 2) {
    const edges: Edge[] = [];
    for (let i = step; i < network.n; i += 2 * step) edges.push([i, i - step]);
    const back = edges.map(([from, to]): Edge => [to, from]);
    time += slowest(network, edges, bytes) + slowest(network, back, bytes);
  }
  return time;
}

/** Each tells its sum so far to the one 1, 2, 4, … places on, until all know all: as many messages as n has binary digits. */
export function doublingNs(network: Network, bytes: number): number {
  const { n } = network;
  let time = 0;
  for (let step = 1; step < n; step *= 2)
    time += slowest(
      network,
      Array.from({ length: n }, (_, i): Edge => [i, (i + step) % n]),
      bytes,
    );
  return Math.round(time);
}

/** Rings inside the machines, then each device's part around the machines, all devices of a machine at once through its port. */
function hierarchicalNs(network: Network, bytes: number): number {
  const { n, machines } = network;
  if (machines === undefined) return Number.POSITIVE_INFINITY;
  const members: number[][] = [];
  for (let i = 0; i < n; i++) (members[machines[i]!] ??= []).push(i);
  const inside = Math.max(...members.map((each) => ringNs(network, each, bytes)));
  // The devices' parts pass the port one after the other: together they are the whole row.
  const outside = ringNs(
    network,
    members.map((each) => each[0]!),
    bytes,
  );
  return inside + outside;
}

/** How long the exact mean of a row of so many bytes takes, from the moment at which all are ready. */
export function collectiveTimes(
  network: Network,
  bytes: number,
): Readonly<Record<'ring' | 'tree' | 'hierarchical', number>> {
  const all = Array.from({ length: network.n }, (_, i) => i);
  return {
    ring: Math.round(ringNs(network, all, bytes)),
    tree: Math.round(treeNs(network, bytes)),
    hierarchical: Math.round(hierarchicalNs(network, bytes)),
  };
}

/** By the network's own choice; the name of what was taken, and its time. */
export function collectiveOf(network: Network, bytes: number): { readonly name: string; readonly ns: number } {
  const times = Object.entries(collectiveTimes(network, bytes));
  const chosen = times.filter(([name, ns]) => Number.isFinite(ns) && [name, 'auto'].includes(network.collective));
  // Without machines of several devices there is nothing to arrange in two levels.
  const [name, ns] = (chosen.length > 0 ? chosen : times).reduce((best, each) => (each[1] < best[1] ? each : best));
  return { name, ns };
}
