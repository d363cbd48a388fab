import type { Preset } from '../preset.ts';

export const tenGigabit: Preset = {
  name: '10gbe',
  summary: 'a cluster with 10 Gb/s Ethernet',
  source: 'Hot Interconnects 2003',
  network: { kind: 'uniform', latency: '20us', rate: '10Gb/s' },
};

export const lan: Preset = {
  name: 'lan',
  summary: 'a lab with 1 Gb/s Ethernet',
  source: 'recalled',
  network: { kind: 'uniform', latency: '100us', rate: '1Gb/s' },
};

export const wifi: Preset = {
  name: 'wifi',
  summary: 'laptops by wireless LAN, 30 Mb/s down and 15 up',
  source: 'throttling of Firefox',
  network: { kind: 'uniform', latency: '2ms', up: '15Mb/s', down: '30Mb/s' },
};
