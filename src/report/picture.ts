import { number } from '../base/format.ts';
import { drawSmall } from '../topology/draw.ts';
import { topologyAt } from '../topology/schedule.ts';
import { summarize } from '../topology/summary.ts';
import { buildTopology, type TopologyConfig } from '../topology/topology.ts';
import type { Picture } from './figure/figure.ts';
import type { Report } from './report.ts';

/** More topologies of one schedule than these are not drawn, but the first, the middle and the last. */
const most = 3;

interface Phase {
  /** From and to which epoch, counted from 0. */
  readonly from: number;
  to: number;
  readonly config: TopologyConfig;
}

/** The topologies of a run, one after the other; everyone with everyone where gradients are averaged over all. */
function phasesOf({ topology, replicas, epochs, algorithm }: Report['runs'][number]['experiment']): readonly Phase[] {
  const phases: Phase[] = [];
  for (let epoch = 0; epoch < epochs; epoch++) {
    const config =
      algorithm.kind === 'centralized'
        ? ({ kind: 'complete' } as TopologyConfig)
        : topologyAt(topology, replicas, epoch, epochs);
    const last = phases.at(-1);
    if (last !== undefined && JSON.stringify(last.config) === JSON.stringify(config)) last.to = epoch;
    else phases.push({ from: epoch, to: epoch, config });
  }
  return phases.length <= most ? phases : [phases[0]!, phases[Math.floor(phases.length / 2)]!, phases.at(-1)!];
}

/** The topologies of every group as small drawings with what is to be known about them. */
export function picturesOf(report: Report): readonly Picture[] {
  const drawn = new Map<string, Omit<Picture, 'group' | 'title'>>();
  return report.groups.flatMap(({ implementation: name, replicas, runs }, group) => {
    const { experiment } = report.runs[runs[0]!]!;
    const phases = phasesOf(experiment);
    return phases.map(({ from, to, config }): Picture => {
      const key = JSON.stringify([config, replicas, experiment.seed]);
      const picture = drawn.get(key) ?? draw(config, replicas, experiment.seed);
      drawn.set(key, picture);
      const epochs = from === to ? `epoch ${from + 1}` : `epochs ${from + 1}–${to + 1}`;
      return { group, title: phases.length === 1 ? name : `${name}, ${epochs}`, ...picture };
    });
  });
}

function draw(config: TopologyConfig, replicas: number, seed: number): Omit<Picture, 'group' | 'title'> {
  const topology = buildTopology(config, replicas, seed);
  const summary = summarize(topology);
  const { shapes, every } = drawSmall(topology);
  const { degree, periodSteps } = summary;
  return {
    // Closed in full, as HTML wants it where SVG does not care.
    shapes: shapes.replaceAll(/<(\w+)([^<>]*)\/>/g, '<$1$2></$1>'),
    facts: [
      `${summary.kind}, degree ${degree.min === degree.max ? number(degree.max) : number(degree.mean, 3)}`,
      `spectral gap ${number(summary.spectralGap, 3)}`,
      ...(periodSteps === null ? ['drawn anew each step'] : periodSteps > 1 ? [`step 1 of ${periodSteps}`] : []),
      ...(every > 1 ? [`one in ${number(every)} edges drawn`] : []),
    ],
  };
}
