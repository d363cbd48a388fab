const cells = (row: readonly string[]) => `| ${row.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;

export const markdownTable = (headers: readonly string[], rows: readonly (readonly string[])[]): string =>
  [cells(headers), cells(headers.map(() => '---')), ...rows.map(cells)].join('\n');

export const capital = (text: string): string => text.replace(/^\p{Ll}/u, (letter) => letter.toUpperCase());
