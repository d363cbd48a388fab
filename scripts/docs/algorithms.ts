import { keptNames, planFacts, sentText } from '../../src/algorithm/facts.ts';
import { planOf } from '../../src/algorithm/method.ts';
import { methods } from '../../src/algorithm/methods.ts';
import { requirements } from '../../src/algorithm/needs.ts';
import { linesOf } from '../../src/algorithm/text.ts';
import { capital, markdownTable } from './markdown.ts';

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

/** The formulas of every method with its default settings. */
export const algorithmFormulas = (): string =>
  methods
    .map((method) => {
      const lines = linesOf(planOf(method).text).join('\n');
      return `**${method.title}** (\`${method.name}\`): ${method.summary}. ${capital(method.paper)}.\n\n\`\`\`\n${lines}\n\`\`\``;
    })
    .join('\n\n');
