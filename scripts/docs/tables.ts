import { tidyTables } from '../../src/store/tidy.ts';
import { capital, markdownTable } from './markdown.ts';

export const tableReference = (): string =>
  Object.entries(tidyTables)
    .map(([name, { summary, columns }]) => {
      const rows = columns.map(({ name, type, unit, description }) => [
        `\`${name}\``,
        unit === '' ? type : `${type}, ${unit}`,
        description,
      ]);
      return `### \`${name}\`\n\n${capital(summary)}.\n\n${markdownTable(['column', 'type', 'what it holds'], rows)}`;
    })
    .join('\n\n');
