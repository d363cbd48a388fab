import type { TopologySummary } from './summary.ts';
import type { Topology } from './topology.ts';
export const drawTopology = (_t: Topology, _s: TopologySummary): string => '<svg/>';
