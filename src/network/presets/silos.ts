import type { Preset } from '../preset.ts';

const places = [
  ['Virginia', 38.9, -77.5],
  ['California', 37.4, -122.1],
  ['Oregon', 45.8, -119.7],
  ['Ireland', 53.3, -6.3],
  ['Frankfurt', 50.1, 8.7],
  ['Tokyo', 35.7, 139.7],
  ['Seoul', 37.6, 127],
  ['Singapore', 1.35, 103.8],
  ['Sydney', -33.9, 151.2],
  ['Mumbai', 19.1, 72.9],
  ['São Paulo', -23.6, -46.6],
] as const;

export const silos: Preset = {
  name: 'silos',
  summary: 'eleven data centres around the globe, 144 Mb/s down and 35 up',
  source: 'omarfoq/communication-in-cross-silo-fl; places by their city',
  network: {
    kind: 'distance',
    places: places.map(([name, latitude, longitude]) => ({ name, latitude, longitude })),
    rate: '1Gb/s',
    up: '35Mb/s',
    down: '144Mb/s',
  },
};
