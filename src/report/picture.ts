import { factsOf, peersOf } from '../algorithm/facts.ts';
import { number } from '../base/format.ts';
import { parse } from '../base/schema.ts';
import { drawSmall } from '../draw/network.ts';
import { topologyAt } from '../topology/schedule.ts';
import { summarize } from '../topology/summary.ts';
import { buildTopology, type TopologyConfig, topologySchema } from '../topology/topology.ts';
import type { Picture } from './figure/figure.ts';
import type { Report } from './report.ts';

const complete = parse(topologySchema, { kind: 'complete' }, 'topology') as TopologyConfig;
/** More topologies of one schedule than these are not drawn, but the first, the middle and the last. */
const most = 3;

interface Phase {
  /** From and to which epoch, counted from 0. */
  readonly from: number;
  to: number;
  readonly config: TopologyConfig;
}

/** The topologies of a run, one after the other; everyone with everyone if gradients are averaged over all. */
function phasesOf({ topology, replicas, epochs, algorithm }: Report['runs'][number]['experiment']): readonly Phase[] {
  const phases: Phase[] = [];
  for (let epoch = 0; epoch < epochs; epoch++) {
    const peers = peersOf({ algorithm, replicas });
    const config = factsOf(algorithm).usesTopology ? topologyAt(topology, peers, epoch, epochs) : complete;
    const last = phases.at(-1);
    if (last !== undefined && JSON.stringify(last.config) === JSON.stringify(config)) last.to = epoch;
    else phases.push({ from: epoch, to: epoch, config });
  }
  return phases.length <= most ? phases : [phases[0]!, phases[Math.floor(phases.length / 2)]!, phases.at(-1)!];
}

/** The topologies of all groups as small drawings with what is to be known about them. */
export function picturesOf(report: Report): readonly Picture[] {
  const found = new Map<string, { draw: () => Drawing; of: { group: number; title: string }[] }>();
  report.groups.forEach(({ name, runs }, group) => {
    const { experiment } = report.runs[runs[0]!]!;
    const replicas = peersOf(experiment);
    const phases = phasesOf(experiment);
    for (const { from, to, config } of phases) {
      const key = JSON.stringify([config, replicas, experiment.seed]);
      const epochs = from === to ? `epoch ${from + 1}` : `epochs ${from + 1}–${to + 1}`;
      const title = phases.length === 1 ? name : `${name}, ${epochs}`;
      const picture = found.get(key) ?? { draw: () => drawn(key, config, replicas, experiment.seed), of: [] };
      picture.of.push({ group, title });
      found.set(key, picture);
    }
  });
  return [...found.values()].map(({ draw, of }) => ({ of, ...draw() }));
}

type Drawing = Omit<Picture, 'of'>;

/** Those drawn last: a report that is made again and again has the same ones. */
const known = new Map<string, Drawing>();
const mostKnown = 64;

function drawn(key: string, config: TopologyConfig, replicas: number, seed: number): Drawing {
  const drawing = known.get(key) ?? draw(config, replicas, seed);
  known.delete(key);
  known.set(key, drawing);
  if (known.size > mostKnown) known.delete(known.keys().next().value!);
  return drawing;
}

function draw(config: TopologyConfig, replicas: number, seed: number): Drawing {
  const topology = buildTopology(config, replicas, seed);
  const summary = summarize(topology);
  const { shapes, every } = drawSmall(topology);
  const { degree, periodSteps } = summary;
  return {
    // Closed in full, as HTML wants it; SVG does not care.
    shapes: shapes.replaceAll(/<(\w+)([^<>]*)\/>/g, '<$1$2></$1>'),
    facts: [
      `${summary.kind}, degree ${degree.min === degree.max ? number(degree.max) : number(degree.mean, 3)}`,
      `spectral gap ${number(summary.spectralGap, 3)}`,
      ...(periodSteps === null ? ['drawn anew each step'] : periodSteps > 1 ? [`step 1 of ${periodSteps}`] : []),
      ...(every > 1 ? [`one in ${number(every)} edges drawn`] : []),
    ],
  };
}
