import { tidyTables } from '../../src/store/tables.ts';

export const tableReference = (): string =>
  Object.entries(tidyTables)
    .map(
      ([name, { summary, columns }]) =>
        `### \`${name}\`\n\n${summary}.\n\n${columns.map((column) => `\`${column}\``).join(', ')}`,
    )
    .join('\n\n');
