import { z } from 'zod';
import { UserError } from '../../base/error.ts';
import { bytesPerSecond, nanoseconds, rateSetting, timeSetting } from '../units.ts';
import { wiringKind } from '../wiring.ts';

const link = z.strictObject({ latency: timeSetting('one way'), rate: rateSetting('each way') });

export const hosts = wiringKind({
  name: 'hosts',
  summary: 'machines of several devices: an inner link for each device, one port per machine that its devices share',
  settings: {
    devices: z.int().min(1).describe('devices per machine; replicas fill one machine after the other'),
    machines: z.int().min(1).optional().describe('how many there are; as many as needed by default'),
    inner: link.describe('between devices of one machine'),
    outer: link.describe('between machines; the rate is that of the port'),
  },
  build(n, { devices, machines: most, inner, outer }) {
    const count = Math.ceil(n / devices);
    if (most !== undefined && count > most)
      throw new UserError(
        `${most} machines of ${devices} devices have room for ${most * devices} replicas, not for ${n}`,
        {
          hint: `use at most ${most * devices} replicas, or raise machines`,
        },
      );
    // Ports 0 … n−1 are the devices' own, for the inner link; those of the machines follow.
    const ports = (rate: number, shared: number) =>
      Float64Array.from({ length: n + count }, (_, port) => (port < n ? rate : shared));
    const [innerRate, outerRate] = [bytesPerSecond(inner.rate), bytesPerSecond(outer.rate)];
    const [innerNs, outerNs] = [nanoseconds(inner.latency), nanoseconds(outer.latency)];
    const machines = Int32Array.from({ length: n }, (_, i) => Math.floor(i / devices));
    return {
      upRates: ports(innerRate, outerRate),
      downRates: ports(innerRate, outerRate),
      machines,
      way(from, to) {
        const [a, b] = [machines[from]!, machines[to]!];
        return a === b
          ? { latencyNs: innerNs, rate: innerRate, up: from, down: to }
          : { latencyNs: outerNs, rate: outerRate, up: n + a, down: n + b };
      },
    };
  },
});
