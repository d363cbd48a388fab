import { connections } from './connections.ts';
import { connectionsAccuracy, varianceAccuracy } from './correlation.ts';
import { distance } from './distance.ts';
import type { Figure } from './figure.ts';
import { front } from './front.ts';
import { gantt } from './gantt.ts';
import { heatmap } from './heatmap.ts';
import { learning } from './learning.ts';
import { links } from './links.ts';
import { loop } from './loop.ts';
import { network } from './network.ts';
import { phasesFigure } from './phases.ts';
import { progress } from './progress.ts';
import { rank } from './rank.ts';
import { scaling } from './scaling.ts';
import { topologies } from './topologies.ts';
import { variance } from './variance.ts';
import { virtual } from './virtual.ts';
import { waiting } from './waiting.ts';

/** Every figure of a report, in the order in which it is read. */
export const figures: readonly Figure[] = [
  learning,
  front,
  virtual,
  gantt,
  links,
  waiting,
  connections,
  scaling,
  connectionsAccuracy,
  varianceAccuracy,
  variance,
  rank,
  heatmap,
  distance,
  loop,
  network,
  topologies,
  phasesFigure,
  progress,
];
