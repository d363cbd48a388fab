import { number } from '../../src/base/format.ts';
import type { Kind } from '../../src/topology/kind.ts';
import { kinds, needsFile } from '../../src/topology/kinds.ts';
import { summarize } from '../../src/topology/summary.ts';
import { buildTopology } from '../../src/topology/topology.ts';
import { markdownTable } from './markdown.ts';

const exampleReplicas = 64;

const yes = (value: boolean) => (value ? 'yes' : 'no');

function factsOf({ name }: Kind): string[] {
  if (name === 'file') return ['', '', '', '', '', ''];
  const facts = summarize(buildTopology({ kind: name }, exampleReplicas, 1));
  const { periodSteps, mixingSteps } = facts;
  return [
    number(facts.degree.mean, 3),
    periodSteps === null ? 'random' : periodSteps === 1 ? 'static' : `${periodSteps} steps`,
    number(facts.spectralGap, 3),
    mixingSteps === null ? 'never' : number(mixingSteps),
    yes(facts.directed),
    yes(facts.doublyStochastic),
  ];
}

/** Every kind with its names, its usual settings and what it offers at one size. */
export const topologyTable = (): string =>
  markdownTable(
    ['kind', 'also called', 'neighbours', 'settings', 'usual weights'],
    kinds.map((kind) => [
      `\`${kind.name}\``,
      kind.aliases.map((alias) => `\`${alias}\``).join(', '),
      kind.summary,
      Object.keys(kind.settings)
        .map((name) => `\`${name}\``)
        .join(', '),
      kind.weights,
    ]),
  );

export const topologyFacts = (): string =>
  markdownTable(
    [`n = ${exampleReplicas}`, 'degree', 'period', 'spectral gap', 'mixing steps', 'directed', 'doubly stochastic'],
    kinds.filter((kind) => !needsFile(kind)).map((kind) => [`\`${kind.name}\``, ...factsOf(kind)]),
  );
