import { z } from 'zod';
import { bytesPerSecond, nanoseconds, rateSetting, timeSetting } from '../units.ts';
import { inBlocks, ownPorts, wiringKind } from '../wiring.ts';

const earthKm = 6371;

/** Along a great circle. */
export function kilometres(a: Place, b: Place): number {
  const radians = (degrees: number) => (degrees * Math.PI) / 180;
  const half = (angle: number) => Math.sin(angle / 2) ** 2;
  const [p, q] = [radians(a.latitude), radians(b.latitude)];
  const h = half(q - p) + Math.cos(p) * Math.cos(q) * half(radians(b.longitude - a.longitude));
  return 2 * earthKm * Math.asin(Math.sqrt(h));
}

interface Place {
  readonly latitude: number;
  readonly longitude: number;
}

export const distance = wiringKind({
  name: 'distance',
  summary: 'places on the globe: latency grows with the distance',
  settings: {
    places: z
      .array(
        z.strictObject({
          name: z.string().min(1).describe('of the place'),
          latitude: z.number().min(-90).max(90).describe('in degrees, north is positive'),
          longitude: z.number().min(-180).max(180).describe('in degrees, east is positive'),
        }),
      )
      .min(1)
      .describe('where devices are, which are dealt to them in this order'),
    base: timeSetting('latency at no distance, one way').default('4ms'),
    perKm: timeSetting('added per kilometre').default('8.5us'),
    rate: rateSetting('of each path'),
    up: rateSetting('of what a device sends; the paths alone limit it by default').optional(),
    down: rateSetting('of what a device hears').optional(),
  },
  build(n, { places, base, perKm, rate, up = rate, down = rate }) {
    const place = inBlocks(n, places.length);
    const [start, slope, path] = [nanoseconds(base), nanoseconds(perKm), bytesPerSecond(rate)];
    return {
      ...ownPorts(n, bytesPerSecond(up), bytesPerSecond(down)),
      way(from, to) {
        const km = kilometres(places[place[from]!]!, places[place[to]!]!);
        return { latencyNs: start + slope * km, rate: path, up: from, down: to };
      },
      names: Array.from(place, (p, i) =>
        n <= places.length ? places[p]!.name : `${places[p]!.name} ${i - place.indexOf(p)}`,
      ),
    };
  },
});
