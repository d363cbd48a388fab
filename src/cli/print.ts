/** Plain text for terminals: columns that line up, numbers that are short. */
export { bytes, number } from '../base/format.ts';

export const yesNo = (value: boolean) => (value ? 'yes' : 'no');

/** A label and a value a line. */
export function fields(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([label]) => label.length));
  return rows.map(([label, value]) => `  ${label.padEnd(width)}  ${value}`).join('\n');
}

/** Columns under their headers; the first and those in `text` are text, the rest are numbers and end flush right. */
export function table(
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  text: readonly string[] = [],
): string {
  const widths = headers.map((header, c) => Math.max(header.length, ...rows.map((row) => row[c]!.length)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, c) => (c === 0 || text.includes(headers[c]!) ? cell.padEnd(widths[c]!) : cell.padStart(widths[c]!)))
      .join('  ')
      .trimEnd();
  return [line(headers), line(widths.map((width) => '─'.repeat(width))), ...rows.map(line)].join('\n');
}

/** As wide as the terminal, up to what reads well. */
export const textWidth = () => Math.min(process.stdout.columns ?? 120, 120);

/** Lines of at most `width` letters; all but the first are indented. */
export function wrap(text: string, width: number, indent = ''): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1)!;
    if (line !== '' && line.length + 1 + word.length > width) lines.push(`${indent}${word}`);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.join('\n');
}

/** Comma-separated values (RFC 4180): a field with a comma, a quote or a line break stands in quotes. */
export function csv(rows: readonly (readonly string[])[]): string {
  const field = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return rows.map((row) => row.map(field).join(',')).join('\n');
}
