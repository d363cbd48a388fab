import { computeTimes, type DeviceSettings } from '../network/devices.ts';
import { buildNetwork, type NetworkSettings } from '../network/network.ts';
import { devicesOfReplicas } from '../network/premises.ts';
import { transferNs } from '../network/units.ts';
import type { RoundTimes, Trip } from './scheduler.ts';

/** What a round is predicted to take by devices without noise, if no message waits for another. */
export function predictedTimes(
  given: { readonly network: NetworkSettings; readonly devices: DeviceSettings },
  { replicas, clients, seed, batch, bytes, localSteps }: Round,
): RoundTimes {
  const n = devicesOfReplicas(given.network, replicas);
  const network = buildNetwork(given.network, n);
  const { noise: _, slow, ...devices } = given.devices;
  const lasting = slow?.kind === 'devices' ? { ...devices, slow } : devices;
  const compute = computeTimes(lasting, { n, seed, batch });
  const trip = (from: number, to: number): Trip => {
    const { latencyNs, rate, up, down } = network.way(from, to);
    return {
      latencyNs,
      leavesNs: network.overheadNs + transferNs(bytes, Math.min(rate, network.upRates[up]!)),
      entersNs: transferNs(bytes, network.downRates[down]!),
    };
  };
  return {
    computeNs: Float64Array.from({ length: clients }, (_, k) => localSteps * compute(k, 0)),
    down: (server, client) => trip(clients + server, client),
    up: (client, server) => trip(client, clients + server),
  };
}

interface Round {
  readonly replicas: number;
  readonly clients: number;
  readonly seed: number;
  readonly batch: number;
  /** Of a model. */
  readonly bytes: number;
  readonly localSteps: number;
}
