import { keptNames, planFacts, sentText } from '../../src/algorithm/facts.ts';
import { planOf } from '../../src/algorithm/method.ts';
import { methods } from '../../src/algorithm/methods.ts';
import { requirements } from '../../src/algorithm/needs.ts';
import { markdownTable } from './markdown.ts';

/** Every method: what it keeps, sends and needs. */
export const algorithmTable = (): string =>
  markdownTable(
    ['kind', 'also called', 'keeps besides x', 'sends to each neighbour', 'needs of the topology', 'paper'],
    methods.map((method) => {
      const plan = planOf(method);
      return [
        `\`${method.name}\``,
        (method.aliases ?? []).map((alias) => `\`${alias}\``).join(', '),
        keptNames(method).join(', '),
        sentText(planFacts(plan), plan),
        method.needs.map((need) => requirements[need].what).join('; '),
        method.paper,
      ];
    }),
  );

const indentOf = (line: string) => /^ */.exec(line)![0];

/** The formulas of every method with its default settings. */
export const algorithmFormulas = (): string =>
  methods
    .map((method) => {
      const lines = planOf(method)
        .text.split(/\n/)
        .map((line) => line.replace(/^ {4}/, ''))
        .filter((line) => line.trim() !== '')
        .flatMap((line) => line.split(/; (?![^{]*\})/).map((part, k) => (k === 0 ? part : indentOf(line) + part)));
      return `**${method.title}** (\`${method.name}\`): ${method.summary}. ${method.paper}.\n\n\`\`\`\n${lines.join('\n')}\n\`\`\``;
    })
    .join('\n\n');
