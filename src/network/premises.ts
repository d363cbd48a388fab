import { UserError } from '../base/error.ts';
import { assign } from './assign/search.ts';
import { scheduleProblem } from './assign/settings.ts';
import { type ComputeTimes, computeTimes, type DeviceSettings, isSteady } from './devices.ts';
import { buildNetwork, type Network, type NetworkSettings, resolvedNetwork } from './network.ts';
import { gossipPattern } from './pattern.ts';
import { type Hop, type PipelineSettings, pipelineNs } from './pipeline.ts';
import { fastOrders, type PlainGossip, placedCompute, placedNetwork } from './placement.ts';
import { steadyState } from './steady.ts';
import { bytesOf, transferNs } from './units.ts';

/** Where replicas live: the network between them and how long each computes. */
export interface Premises {
  readonly network: Network;
  readonly compute: ComputeTimes;
  /** If replicas are not on the devices in their order. */
  readonly placement?: Placement;
}

export interface Placement {
  /** The device of each replica. */
  readonly order: readonly number[];
  /** Time per step of plain gossip, and what it would be with devices as they are listed. */
  readonly stepNs: number;
  readonly listedNs: number;
  /** Every order was tried. */
  readonly all: boolean;
}

export interface Inhabitants {
  readonly n: number;
  readonly seed: number;
  readonly batch: number;
  /** Of a model. */
  readonly bytes: number;
  /** Whom replicas hear, round after round until it repeats; none if they average over all. */
  readonly rounds: () => PlainGossip['rounds'];
}

/** How many devices so many replicas live on. */
export const devicesOfReplicas = (network: NetworkSettings, n: number): number =>
  n * (resolvedNetwork(network).pipeline?.stages ?? 1);

const isOrder = (given: readonly number[], n: number) =>
  given.length === n && [...given].sort((a, b) => a - b).every((device, i) => device === i);

/** Refuses a placement and groups that do not name every device once. */
export function checkPremises(network: NetworkSettings, n: number): void {
  const { pipeline, placement } = resolvedNetwork(network);
  if (typeof placement !== 'string' && !isOrder(placement, n))
    throw new UserError(
      `placement must name each of ${n} devices once, from 0 to ${n - 1}; got ${placement.join(', ')}`,
      {
        hint: 'or write placement: fastest',
      },
    );
  const { groups, stages = 1 } = pipeline ?? {};
  if (groups === undefined) return;
  if (groups.length !== stages || groups.some(({ length }) => length !== n) || !isOrder(groups.flat(), n * stages))
    throw new UserError(
      `pipeline.groups must be ${stages} groups of ${n} devices, with each from 0 to ${n * stages - 1} once`,
      { hint: 'dbench schedule --json prints such groups as "stages"; or leave groups out to have them found' },
    );
}

/** Pipelines first, if a replica is one; then the devices or pipelines that replicas live on. */
export function premisesOf(
  given: { readonly network: NetworkSettings; readonly devices: DeviceSettings },
  { n, seed, batch, bytes, rounds }: Inhabitants,
): Premises {
  checkPremises(given.network, n);
  const { pipeline, placement } = resolvedNetwork(given.network);
  const devices = devicesOfReplicas(given.network, n);
  const [network, compute] = [
    buildNetwork(given.network, devices),
    computeTimes(given.devices, { n: devices, seed, batch }),
  ];
  const steady = isSteady(given.devices);
  const premises =
    pipeline === undefined
      ? { network, compute }
      : inPipelines(network, compute, pipelineOf(network, pipeline, { bytes, seed }), steady);
  if (placement === 'listed') return premises;
  const heard = rounds();
  if (heard.length === 0) return premises;
  const gossip = { ...premises, rounds: heard, bytes };
  const placed = placement === 'fastest' ? fastest(gossip, seed, steady) : placedAt(gossip, placement, steady);
  return {
    network: placedNetwork(premises.network, placed.order),
    compute: placedCompute(premises.compute, placed.order),
    placement: placed,
  };
}

/** Candidates whose steps are followed exactly. */
const followed = 5;

function fastest(gossip: PlainGossip, seed: number, steady: boolean): Placement {
  const { orders, all } = fastOrders(gossip, seed, followed);
  const listed = Array.from({ length: gossip.network.n }, (_, i) => i);
  const placements = [listed, ...orders].map((order) => placedAt(gossip, order, steady));
  return { ...placements.reduce((best, each) => (each.stepNs < best.stepNs ? each : best)), all };
}

function placedAt(gossip: PlainGossip, order: readonly number[], steady: boolean): Placement {
  const listed = Array.from({ length: gossip.network.n }, (_, i) => i);
  return { order, stepNs: stepNs(gossip, order, steady), listedNs: stepNs(gossip, listed, steady), all: false };
}

/** Time per step of plain gossip in the long run. */
function stepNs({ network, compute, rounds, bytes }: PlainGossip, order: readonly number[], steady: boolean): number {
  return steadyState(
    {
      network: placedNetwork(network, order),
      compute: placedCompute(compute, order),
      steady,
      pattern: () => gossipPattern(bytes),
      patternPeriod: 1,
      hearing: (gossip) => rounds[gossip % rounds.length]!,
      hearingPeriod: rounds.length,
    },
    400,
  ).stepNs;
}

/** Which devices are one replica, and how a batch passes through them. */
export interface Pipelines {
  /** Stages × replicas: the i-th devices of all stages are replica i. */
  readonly groups: readonly (readonly number[])[];
  readonly parts: number;
  readonly activationBytes: number;
}

function pipelineOf(
  network: Network,
  { stages, activations, parts = 4 * stages, groups }: PipelineSettings,
  { bytes, seed }: { readonly bytes: number; readonly seed: number },
): Pipelines {
  const activationBytes = bytesOf(activations);
  const found = () => {
    const problem = scheduleProblem(network, { stages, gradients: bytes / stages, activations: activationBytes });
    return assign(problem, seed).stages;
  };
  return { groups: groups ?? found(), parts, activationBytes };
}

/** Replicas that are pipelines: a step computes as long as its pipeline takes, and each stage exchanges its part of the model in its own group. */
export function inPipelines(
  network: Network,
  compute: ComputeTimes,
  { groups, parts, activationBytes }: Pipelines,
  steady: boolean,
): Pick<Premises, 'network' | 'compute'> {
  const { machines: _, names, ...rest } = network;
  const stages = groups.length;
  const hop = (from: number, to: number): Hop => {
    const { latencyNs, rate, up, down } = network.way(from, to);
    const limit = Math.min(rate, network.upRates[up]!, network.downRates[down]!);
    return { latencyNs, busyNs: network.overheadNs + transferNs(activationBytes / parts, limit) };
  };
  const between = <T>(value: (from: number, to: number) => T, replica: number) =>
    groups.slice(1).map((group, s) => value(groups[s]![replica]!, group[replica]!));
  const ways = groups[0]!.map((_, i) => ({
    hops: between(hop, i),
    returns: between((from, to) => hop(to, from), i),
  }));
  // A third of a step is its forward pass; every stage has its share of both.
  const share = (device: number, step: number, thirds: number) =>
    Math.round((thirds * compute(device, step)) / (3 * stages * parts));
  const stepNs = (replica: number, step: number) =>
    pipelineNs({
      parts,
      forwardNs: groups.map((group) => share(group[replica]!, step, 1)),
      backwardNs: groups.map((group) => share(group[replica]!, step, 2)),
      ...ways[replica]!,
    });
  const constant = groups[0]!.map((_, i) => (steady ? stepNs(i, 0) : 0));
  return {
    network: {
      ...rest,
      n: groups[0]!.length,
      stages,
      ways: (from, to) => groups.map((group) => network.way(group[from]!, group[to]!)),
      ...(names && { names: groups[0]!.map((device) => names[device]!) }),
    },
    compute: steady ? (replica) => constant[replica]! : stepNs,
  };
}
