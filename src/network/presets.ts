import type { Preset } from './preset.ts';
import { aws } from './presets/aws.ts';
import { dsl, fibre, fiveG, fourG, home, threeG } from './presets/home.ts';
import { lan, tenGigabit, wifi } from './presets/local.ts';
import { a100, h100, summit, v100 } from './presets/machines.ts';
import { silos } from './presets/silos.ts';

/** Every network that has a name, a row each, the fastest first. */
export const presets: readonly Preset[] = [
  h100,
  a100,
  summit,
  v100,
  tenGigabit,
  lan,
  wifi,
  aws,
  silos,
  fibre,
  home,
  dsl,
  fiveG,
  fourG,
  threeG,
];
