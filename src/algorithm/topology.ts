import type { DeviceSettings } from '../network/devices.ts';
import type { NetworkSettings } from '../network/network.ts';
import { withClients } from '../topology/clients.ts';
import { type Schedule, topologyAt } from '../topology/schedule.ts';
import { buildTopology, type Topology } from '../topology/topology.ts';
import type { AlgorithmSettings } from './choose.ts';
import { cohortFor, serverSettings } from './cohort.ts';
import { factsOf, peersOf } from './facts.ts';
import { predictedTimes } from './times.ts';

/** The settings that say who speaks with whom. */
export interface Connected {
  readonly algorithm: AlgorithmSettings;
  readonly topology: Schedule;
  readonly replicas: number;
  readonly epochs: number;
  readonly seed: number;
  readonly batch: number;
  readonly network?: NetworkSettings | undefined;
  readonly devices?: DeviceSettings | undefined;
}

/** What is known once there is a model and data. */
export interface Known {
  /** Of a model; what a scheduler predicts times by. */
  readonly bytes?: number;
  /** Of each replica with data. */
  readonly samples?: readonly number[];
}

/**
 * The topologies of a run by epoch, built anew only when the schedule changes them: everyone with everyone if gradients are averaged over all, that
 * of the servers with their clients if there are such.
 */
export function topologiesOf(run: Connected, { bytes = 0, samples }: Known = {}): (epoch: number) => Topology {
  const { algorithm, topology, replicas, epochs, seed } = run;
  const { usesTopology } = factsOf(algorithm);
  const peers = peersOf(run);
  const cohort = cohortFor(algorithm, replicas, { seed, samples, times: timesOf(run, bytes) });
  let known: { readonly key: string; readonly built: Topology } | undefined;
  return (epoch) => {
    const config = usesTopology ? topologyAt(topology, peers, epoch, epochs) : { kind: 'complete' };
    const key = JSON.stringify(config);
    if (known?.key === key) return known.built;
    const built = buildTopology(config, peers, seed);
    known = { key, built: cohort === undefined ? built : withClients(built, cohort) };
    return known.built;
  };
}

function timesOf({ algorithm, network, devices, replicas, seed, batch }: Connected, bytes: number) {
  const settings = serverSettings(algorithm);
  if (settings === undefined || network === undefined || devices === undefined) return undefined;
  const { servers, localSteps } = settings;
  const round = { replicas, clients: replicas - servers, seed, batch, bytes, localSteps };
  return predictedTimes({ network, devices }, round);
}
