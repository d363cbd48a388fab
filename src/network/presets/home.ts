import type { Preset } from '../preset.ts';

const line = (name: string, what: string, down: string, up: string, latency: string, source: string): Preset => ({
  name,
  summary: `${what}, ${down} down and ${up} up`,
  source,
  network: { kind: 'uniform', latency, up, down },
});

/** Latencies are half the round trip that the sources give. */
export const home: Preset = {
  ...line('home', 'homes by cable', '5Mb/s', '1Mb/s', '14ms', 'WebPageTest'),
  aliases: ['cable'],
};
export const dsl = line('dsl', 'homes by DSL', '1.5Mb/s', '384kb/s', '25ms', 'WebPageTest');
export const fibre = line('fibre', 'homes by fibre', '20Mb/s', '5Mb/s', '2ms', 'WebPageTest');

/** Phones differ from step to step as much as clients differ in FedScale. */
const devices = { noise: { kind: 'lognormal', sigma: 0.6 } };

export const threeG: Preset = { ...line('3g', 'phones', '1.6Mb/s', '768kb/s', '150ms', 'WebPageTest'), devices };
export const fourG: Preset = {
  ...line('4g', 'phones', '4Mb/s', '3Mb/s', '10ms', 'throttling of Firefox'),
  aliases: ['phones'],
  devices,
};
export const fiveG: Preset = {
  ...line('5g', 'phones', '111Mb/s', '11Mb/s', '15.5ms', 'Ookla, median of the UK 2024'),
  devices,
};
