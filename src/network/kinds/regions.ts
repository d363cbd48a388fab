import { z } from 'zod';
import { suggest, UserError } from '../../base/error.ts';
import { bytesPerSecond, nanoseconds, rateSetting, timeSetting } from '../units.ts';
import { inBlocks, ownPorts, wiringKind } from '../wiring.ts';

const link = { latency: timeSetting('one way'), rate: rateSetting('of the path') };

export const regions = wiringKind({
  name: 'regions',
  summary: 'devices in regions: one link inside, another between each two regions',
  settings: {
    regions: z.array(z.string().min(1)).min(1).describe('their names, in the order in which devices are dealt to them'),
    inside: z.strictObject(link).describe('between devices of one region'),
    between: z
      .array(z.strictObject({ regions: z.tuple([z.string(), z.string()]).describe('the two'), ...link }))
      .describe('a row for each two regions, in either order'),
    use: z.array(z.string()).min(1).optional().describe('only these regions, in this order; all by default'),
    up: rateSetting('of what a device sends; the paths alone limit it by default').optional(),
    down: rateSetting('of what a device hears').optional(),
  },
  build(n, { regions, inside, between, use = regions, up, down }) {
    for (const name of [...use, ...between.flatMap((row) => row.regions)])
      if (!regions.includes(name)) throw new UserError(`there is no region "${name}"; ${suggest(name, regions)}`);
    const read = ({ latency, rate }: { latency: string; rate: string }) => ({
      latencyNs: nanoseconds(latency),
      rate: bytesPerSecond(rate),
    });
    const within = read(inside);
    const links = new Map(
      between.flatMap((row) => {
        const [a, b] = row.regions;
        return [
          [`${a} ${b}`, read(row)],
          [`${b} ${a}`, read(row)],
        ] as const;
      }),
    );
    const place = inBlocks(n, use.length);
    const used = new Set(Array.from(place, (p) => use[p]!));
    for (const a of used)
      for (const b of used)
        if (a !== b && !links.has(`${a} ${b}`)) throw new UserError(`between: there is no link of ${a} and ${b}`);
    const port = (rate: string | undefined) => (rate === undefined ? Infinity : bytesPerSecond(rate));
    return {
      ...ownPorts(n, port(up), port(down)),
      way(from, to) {
        const [a, b] = [use[place[from]!]!, use[place[to]!]!];
        return { ...(a === b ? within : links.get(`${a} ${b}`)!), up: from, down: to };
      },
      names: Array.from(place, (p, i) => (n === use.length ? use[p]! : `${use[p]} ${i - place.indexOf(p)}`)),
    };
  },
});
