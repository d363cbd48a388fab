import type { Preset } from '../preset.ts';

const regions = [
  'Oregon',
  'Virginia',
  'Ohio',
  'Tokyo',
  'Seoul',
  'Singapore',
  'Sydney',
  'London',
  'Frankfurt',
  'Ireland',
] as const;

/** Round trip in ms / rate in Gb/s: row by row to the regions that follow. */
const measured = [
  '67/.79 49/1.1 96/.523 124/.46 163/.341 139/.36 136/.42 143/.404 124/.482',
  '11/1.12 143/.524 172/.5 230/.364 197/.383 76/1.16 90/1.02 67/1.05',
  '130/.694 159/.529 197/.452 185/.484 86/1.05 99/.799 77/1.14',
  '34/1.1 73/1.01 100/.761 210/.366 223/.36 199/.465',
  '74/1.14 148/.58 238/.342 235/.358 228/.335',
  '92/.816 169/.5 155/.535 179/.492',
  '262/.326 265/.328 254/.344',
  '14/1.14 12/1.09',
  '24/1.08',
];

export const aws: Preset = {
  name: 'aws',
  summary: 'ten cloud regions around the globe',
  source: 'measured by the authors of DT-FM (DS3Lab/DT-FM); latency is half the round trip',
  network: {
    kind: 'regions',
    regions,
    inside: { latency: '2.5ms', rate: '2Gb/s' },
    between: measured.flatMap((row, a) =>
      row.split(' ').map((cell, place) => {
        const [roundTrip, rate] = cell.split('/').map(Number);
        return { regions: [regions[a]!, regions[a + 1 + place]!], latency: `${roundTrip! / 2}ms`, rate: `${rate}Gb/s` };
      }),
    ),
  },
};
