import { suggest, UserError } from '../base/error.ts';
import type { Method } from './method.ts';
import { adPsgd } from './methods/ad-psgd.ts';
import { cdAdam, dAdam, dadam, damsGrad } from './methods/adam.ts';
import { adaptiveConsensus } from './methods/adaptive-consensus.ts';
import { d2, exactDiffusion, extra } from './methods/bias-corrected.ts';
import { centralized } from './methods/centralized.ts';
import { adaGossip, choco } from './methods/choco.ts';
import { beer, lead } from './methods/compressed-tracking.ts';
import { decentLam } from './methods/decentlam.ts';
import { disPfl } from './methods/dispfl.ts';
import { dpsgd } from './methods/dpsgd.ts';
import { fedDkd } from './methods/feddkd.ts';
import { gut, qgGut } from './methods/global-update-tracking.ts';
import { hybrid } from './methods/hybrid.ts';
import { ladder } from './methods/ladder.ts';
import { leash } from './methods/leash.ts';
import { ntkDfl } from './methods/ntk.ts';
import { parallelServers } from './methods/parallel-servers.ts';
import { dFedAvg, dFedAvgM, dFedSam, diLoCo, gossipPga, localSgd, noLoCo, slowMo } from './methods/periodic.ts';
import { powerGossip } from './methods/power.ts';
import { quantizedPushSum, robustPushSum, sgp } from './methods/push-sum.ts';
import { quasiGlobal } from './methods/quasi-global.ts';
import { relay } from './methods/relay.ts';
import { isoXi, tether } from './methods/tether.ts';
import { diging, dsgt, momentumTracking } from './methods/tracking.ts';

/** Every method, a row each. */
export const methods: readonly Method[] = [
  centralized,
  dpsgd,
  adPsgd,
  quasiGlobal,
  gut,
  qgGut,
  decentLam,
  dAdam,
  cdAdam,
  dadam,
  damsGrad,
  sgp,
  robustPushSum,
  quantizedPushSum,
  choco,
  adaGossip,
  beer,
  lead,
  d2,
  exactDiffusion,
  extra,
  dsgt,
  diging,
  momentumTracking,
  hybrid,
  relay,
  powerGossip,
  adaptiveConsensus,
  tether,
  isoXi,
  leash,
  ladder,
  localSgd,
  gossipPga,
  slowMo,
  diLoCo,
  noLoCo,
  dFedAvg,
  dFedAvgM,
  dFedSam,
  fedDkd,
  ntkDfl,
  disPfl,
  parallelServers,
] as unknown as readonly Method[];

/** By its name or one of its other names. */
export function findMethod(name: string): Method {
  const found = methods.find((method) => method.name === name || method.aliases?.includes(name));
  if (found !== undefined) return found;
  const names = methods.flatMap((method) => [method.name, ...(method.aliases ?? [])]);
  throw new UserError(`unknown algorithm "${name}"`, { hint: suggest(name, names) });
}
