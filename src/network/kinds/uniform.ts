import { UserError } from '../../base/error.ts';
import { bytesPerSecond, nanoseconds, rateSetting, timeSetting } from '../units.ts';
import { ownPorts, wiringKind } from '../wiring.ts';

export const uniform = wiringKind({
  name: 'uniform',
  summary: 'all links alike; each device has a port of its own',
  settings: {
    latency: timeSetting('one way'),
    rate: rateSetting('of each path, and of ports that have none of their own').optional(),
    up: rateSetting('of what a device sends').optional(),
    down: rateSetting('of what a device hears').optional(),
  },
  build(n, { latency, rate, up = rate, down = rate }) {
    if (up === undefined || down === undefined)
      throw new UserError('a uniform network needs a rate', { hint: 'give rate, as in 10Gb/s, or both up and down' });
    const way = { latencyNs: nanoseconds(latency), rate: rate === undefined ? Infinity : bytesPerSecond(rate) };
    return {
      ...ownPorts(n, bytesPerSecond(up), bytesPerSecond(down)),
      way: (from, to) => ({ ...way, up: from, down: to }),
    };
  },
});
