import { UserError } from '../../base/error.ts';
import { buildTopology, type Topology } from '../../topology/topology.ts';
import { computeTimes, devicesOf } from '../devices.ts';
import type { Network } from '../network.ts';
import { allReducePattern, gossipPattern } from '../pattern.ts';
import { inPipelines } from '../premises.ts';
import { type Course, steadyState } from '../steady.ts';
import { bytesOf } from '../units.ts';
import type { ScheduleSettings } from './settings.ts';

/** A step of all pipelines: the slowest pipeline alone, and with each way to exchange gradients or parameters inside the groups. */
export interface GroupTimes {
  readonly parts: number;
  readonly pipelineNs: number;
  /** The fastest first. */
  readonly exchanges: readonly { readonly name: string; readonly stepNs: number; readonly exact: boolean }[];
}

const kinds = ['one-peer-exponential', 'ring', 'torus', 'exponential', 'complete'] as const;

/** Those that there are for n: a torus needs a grid. */
const topologiesOf = (n: number, seed: number): readonly Topology[] =>
  kinds.flatMap((kind) => {
    try {
      return [buildTopology({ kind }, n, seed)];
    } catch (error) {
      if (error instanceof UserError) return [];
      throw error;
    }
  });

/** By all-reduce and by gossip, every stage in its own group at once. */
export function timesInGroups(
  network: Network,
  { compute, parts, activations, gradients, seed }: ScheduleSettings,
  groups: readonly (readonly number[])[],
): GroupTimes {
  const { length: stages } = groups;
  const n = groups[0]!.length;
  const times = computeTimes(devicesOf({}, { compute }), { n: network.n, seed, batch: 1 });
  const pipelines = { groups, parts: parts ?? 4 * stages, activationBytes: bytesOf(activations) };
  const bytes = stages * bytesOf(gradients);
  const course: Omit<Course, 'pattern' | 'hearing' | 'hearingPeriod'> = {
    ...inPipelines(network, times, pipelines, true),
    steady: true,
    patternPeriod: 1,
  };
  const alone = { hearing: () => [], hearingPeriod: 1 };
  const ways = [
    { name: 'all-reduce', ...course, ...alone, pattern: () => allReducePattern(bytes) },
    ...topologiesOf(n, seed).map((topology) => ({
      name: `gossip, ${topology.kind}`,
      ...course,
      pattern: () => gossipPattern(bytes),
      hearing: (gossip: number) => topology.round(gossip).sources,
      hearingPeriod: topology.period,
    })),
  ];
  const exchanges = ways.map(({ name, ...way }) => {
    const { stepNs, exact } = steadyState(way, 1000);
    return { name, stepNs, exact };
  });
  return {
    parts: pipelines.parts,
    pipelineNs: Math.max(...Array.from({ length: n }, (_, i) => course.compute(i, 0))),
    exchanges: exchanges.toSorted((a, b) => a.stepNs - b.stepNs),
  };
}
