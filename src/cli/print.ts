/** Plain text for terminals: columns that line up, numbers that are short. */
export { bytes, number, ratio } from '../base/format.ts';

/** In percent with two digits. What sums in another order leave in the last bits does not decide how it is rounded. */
export const percent = (share: number) => Number((100 * share).toPrecision(12)).toFixed(2);

export const yesNo = (value: boolean) => (value ? 'yes' : 'no');

/** As wide as the terminal; what goes to a file or another program has all the width it wants. */
export const screenWidth = () => (process.stdout.isTTY ? (process.stdout.columns ?? 80) : Number.POSITIVE_INFINITY);

/** As wide as the terminal, up to what reads well. */
export const textWidth = () => Math.min(screenWidth(), 120);

/** A label and a value per line; values that are too long go on below themselves. */
export function fields(rows: readonly (readonly [string, string])[], width = screenWidth()): string {
  const labels = Math.max(...rows.map(([label]) => label.length));
  const indent = ' '.repeat(labels + 4);
  return rows
    .map(
      ([label, value]) =>
        `  ${label.padEnd(labels)}  ${wrap(value, width - indent.length).replaceAll('\n', `\n${indent}`)}`,
    )
    .join('\n');
}

export interface Fit {
  /** Headers of columns that are left out in this order, as far as the table is too wide. */
  readonly drop?: readonly string[];
  readonly width?: number;
}

const gap = '  ';

function naturalWidths(headers: readonly string[], rows: readonly (readonly string[])[]): number[] {
  return headers.map((header, column) => Math.max(header.length, ...rows.map((row) => row[column]!.length)));
}

const totalWidth = (widths: readonly number[]) =>
  widths.reduce((sum, width) => sum + width, gap.length * (widths.length - 1));

/** The headers of the columns that a table has room for. */
export function columnsThatFit(
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  { drop = [], width = screenWidth() }: Fit = {},
): readonly string[] {
  const widths = naturalWidths(headers, rows);
  const kept = new Set(headers);
  const tooWide = () => totalWidth(widths.filter((_, column) => kept.has(headers[column]!))) > width;
  for (const header of drop) if (tooWide()) kept.delete(header);
  return headers.filter((header) => kept.has(header));
}

/**
 * Columns under their headers; the first and those in `text` are text, the rest are numbers and end flush right. A table that is too
 * wide loses columns, then the text in the widest columns is broken into lines.
 */
export function table(
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  text: readonly string[] = [],
  fit: Fit = {},
): string {
  const shown = columnsThatFit(headers, rows, fit).map((header) => headers.indexOf(header));
  const pick = (row: readonly string[]) => shown.map((column) => row[column]!);
  const [titles, cells] = [pick(headers), rows.map(pick)];
  const isText = titles.map((title, column) => column === 0 || text.includes(title));
  const widths = narrowed(naturalWidths(titles, cells), titles, isText, fit.width ?? screenWidth());
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => (isText[column] ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join(gap)
      .trimEnd();
  const broken = (row: readonly string[]) => {
    const parts = row.map((cell, column) => (isText[column] ? wrap(cell, widths[column]!).split('\n') : [cell]));
    const height = Math.max(...parts.map(({ length }) => length));
    return Array.from({ length: height }, (_, index) => line(parts.map((part) => part[index] ?? ''))).join('\n');
  };
  return [line(titles), line(widths.map((width) => '─'.repeat(width))), ...cells.map(broken)].join('\n');
}

const narrowest = 12;

/** Takes from the widest column of text, letter by letter, until the table fits. */
function narrowed(
  natural: readonly number[],
  titles: readonly string[],
  isText: readonly boolean[],
  width: number,
): readonly number[] {
  const widths = [...natural];
  const spare = (column: number) => isText[column] && widths[column]! > Math.max(narrowest, titles[column]!.length);
  while (totalWidth(widths) > width) {
    const widest = [...widths.keys()].filter(spare).sort((a, b) => widths[b]! - widths[a]!)[0];
    if (widest === undefined) break;
    widths[widest]! -= 1;
  }
  return widths;
}

/** Lines of at most `width` letters; all but the first are indented. A word that is longer than a line is broken. */
export function wrap(text: string, width: number, indent = ''): string {
  const lines = [''];
  const room = Math.max(1, width - indent.length);
  for (const word of text.split(' ')) {
    const line = lines.at(-1)!;
    if (line.length + 1 + word.length <= width && line !== '') lines[lines.length - 1] = `${line} ${word}`;
    else {
      const [first, ...rest] = word.length > room ? chunks(word, room) : [word];
      if (line === '') lines[lines.length - 1] = first!;
      else lines.push(indent + first!);
      lines.push(...rest.map((part) => indent + part));
    }
  }
  return lines.join('\n');
}

const chunks = (word: string, size: number) =>
  Array.from({ length: Math.ceil(word.length / size) }, (_, index) => word.slice(index * size, (index + 1) * size));

/** At most `width` letters, those in the middle left out: names differ at both ends. */
export function shortened(text: string, width: number): string {
  if (text.length <= width) return text;
  const head = Math.ceil((width - 1) / 2);
  return `${text.slice(0, head)}…${text.slice(text.length - (width - 1 - head))}`;
}

/** Comma-separated values (RFC 4180): a field with a comma, a quote or a line break stands in quotes. */
export function csv(rows: readonly (readonly string[])[]): string {
  const field = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return rows.map((row) => row.map(field).join(',')).join('\n');
}
