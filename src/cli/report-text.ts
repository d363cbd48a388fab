import { choiceText, networkChoices } from '../report/choice.ts';
import type { Observation, Report } from '../report/report.ts';
import { table, wrap } from './print.ts';
import { type Section, sectionsOf } from './report-sections.ts';

const verdict = ({ holds }: Observation) => (holds ? 'holds' : 'does not hold');

/** The claims that these runs can answer, and in a line per need which others there are. */
function answered({ observations }: Report): {
  readonly told: readonly Observation[];
  readonly open: readonly string[];
} {
  const open = observations.filter(({ holds }) => holds === null);
  const lines = [...new Set(open.map(({ needs }) => needs))].map((needs) => {
    const claims = open.filter((each) => each.needs === needs).map(({ claim }) => `“${claim.replace(/\.$/, '')}”`);
    return `${claims.join(', ')}: needs ${needs}.`;
  });
  return { told: observations.filter(({ holds }) => holds !== null), open: lines };
}

/** The columns of a table in as few parts as fit into the width, the first column in each. */
function parts({ headers, rows }: Section, width: number): string[] {
  const [first, ...others] = headers.map((header, c) => Math.max(header.length, ...rows.map((row) => row[c]!.length)));
  const blocks: number[][] = [];
  let used = 0;
  others.forEach((wide, index) => {
    if (blocks.length === 0 || used + 2 + wide > width) {
      blocks.push([0]);
      used = first!;
    }
    blocks.at(-1)!.push(index + 1);
    used += 2 + wide;
  });
  const pick = (block: readonly number[]) => (row: readonly string[]) => block.map((column) => row[column]!);
  return blocks.map((block) => table(pick(block)(headers), rows.map(pick(block)), [], { width }));
}

/** The report at a glance, for a terminal. */
export function reportText(report: Report, width: number): string {
  const sections = sectionsOf(report, true).map((section) =>
    [
      section.title,
      '',
      parts(section, width).join('\n\n'),
      ...(section.legend === '' ? [] : [wrap(section.legend, width)]),
    ].join('\n'),
  );
  const indented = (text: string) => (text === '' ? [] : [`   ${wrap(text, width - 3).replaceAll('\n', '\n   ')}`]);
  const { told, open } = answered(report);
  const observations = told.map((observation, index) =>
    [
      wrap(`${index + 1}. ${observation.claim}`, width, '   '),
      ...indented(verdict(observation).replace(/^[a-z ]+/, (words) => words.toUpperCase())),
      ...indented(observation.finding),
      ...indented(`Criterion: ${observation.criterion}`),
    ].join('\n'),
  );
  const choices = networkChoices(report).map(choiceText);
  const notes = report.notes.map((note) => wrap(`- ${note}`, width, '  '));
  return [
    wrap(report.title, width),
    ...sections,
    ...(choices.length > 0
      ? [['What to use on each network', '', ...choices.map((text) => wrap(`- ${text}`, width, '  '))].join('\n')]
      : []),
    ['Claims of the paper', '', ...observations, ...open.map((line) => wrap(`- ${line}`, width, '  '))].join('\n'),
    ...(notes.length > 0 ? [['Notes', '', ...notes].join('\n')] : []),
  ].join('\n\n');
}

const cells = (row: readonly string[]) => `| ${row.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;

export function reportMarkdown(report: Report): string {
  const sections = sectionsOf(report, false).map(({ title, headers, rows, legend }) =>
    [
      `## ${title}`,
      '',
      cells(headers),
      cells(headers.map((_, column) => (column === 0 ? '---' : '---:'))),
      ...rows.map(cells),
      ...(legend === '' ? [] : ['', `*${legend}*`]),
    ].join('\n'),
  );
  const choices = networkChoices(report).map(choiceText);
  const { told, open } = answered(report);
  const observations = told.map((observation) =>
    [
      `### ${observation.claim} **${verdict(observation)}**`,
      ...(observation.finding === '' ? [] : ['', observation.finding]),
      ...(observation.details.length > 0 ? ['', ...observation.details.map((detail) => `- ${detail}`)] : []),
      '',
      `*Criterion: ${observation.criterion}*`,
    ].join('\n'),
  );
  return [
    `# ${report.title}`,
    ...sections,
    ...(choices.length > 0
      ? [['## What to use on each network', '', ...choices.map((text) => `- ${text}`)].join('\n')]
      : []),
    '## Claims of the paper',
    ...observations,
    ...(open.length > 0 ? [open.map((line) => `- ${line}`).join('\n')] : []),
    ...(report.notes.length > 0 ? [['## Notes', '', ...report.notes.map((note) => `- ${note}`)].join('\n')] : []),
  ].join('\n\n');
}
