import type { Experiment } from '../../src/experiment/schema.ts';
import { type DeviceSettings, devicesSchema } from '../../src/network/devices.ts';
import { type NetworkSettings, networkSchema } from '../../src/network/network.ts';

const uniform = (latency: string, rate: string): NetworkSettings =>
  networkSchema.parse({ kind: 'uniform', latency, rate });

/** Where runs are timed: latency one way and rate of each device, both ways. */
export const networks = {
  fast: uniform('5us', '10GB/s'),
  lan: uniform('50us', '1GB/s'),
  wan: uniform('30ms', '10MB/s'),
} as const;

/** How long a gradient and its step take on one device, by model; steps differ by a log-normal factor. */
const compute: Readonly<Record<string, string>> = { mlp: '1ms', cnn: '5ms', lstm: '20ms', resnet20: '50ms' };

export const devicesOf = ({ model }: Experiment): DeviceSettings =>
  devicesSchema.parse({ compute: compute[model.kind] ?? '10ms', noise: { kind: 'lognormal', sigma: 0.2 } });
