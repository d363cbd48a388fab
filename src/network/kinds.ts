import { distance } from './kinds/distance.ts';
import { hosts } from './kinds/hosts.ts';
import { matrix } from './kinds/matrix.ts';
import { regions } from './kinds/regions.ts';
import { uniform } from './kinds/uniform.ts';
import type { WiringKind } from './wiring.ts';

/** Every kind of network, a row each. */
export const wiringKinds: readonly WiringKind[] = [
  uniform,
  hosts,
  regions,
  distance,
  matrix,
] as unknown as readonly WiringKind[];
