import type { Kind } from './kind.ts';
import { base } from './kinds/base.ts';
import { complete } from './kinds/complete.ts';
import { epidemic } from './kinds/epidemic.ts';
import { equidyn, equistatic } from './kinds/equitopo.ts';
import { exponential, onePeerExponential } from './kinds/exponential.ts';
import { file } from './kinds/file.ts';
import { hypercube } from './kinds/hypercube.ts';
import { lattice } from './kinds/lattice.ts';
import { matcha } from './kinds/matcha.ts';
import { module } from './kinds/module.ts';
import { erdosRenyi, randomRegular, smallWorld } from './kinds/random.ts';
import { ring } from './kinds/ring.ts';
import { star } from './kinds/star.ts';
import { torus } from './kinds/torus.ts';
import { tree } from './kinds/tree.ts';

/** Every kind of topology, a row each. */
export const kinds: readonly Kind[] = [
  ring,
  torus,
  lattice,
  complete,
  star,
  tree,
  exponential,
  onePeerExponential,
  hypercube,
  base,
  equistatic,
  equidyn,
  randomRegular,
  erdosRenyi,
  smallWorld,
  epidemic,
  matcha,
  file,
  module,
] as unknown as readonly Kind[];

/** Whether a kind is nothing by itself: it needs a file of the user's. */
export const needsFile = ({ settings }: Kind): boolean => 'path' in settings;
