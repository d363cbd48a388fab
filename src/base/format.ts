/** Numbers as people read them, in terminals, tables and figures alike. */

/** Up to `digits` significant digits, without trailing zeros; thousands in groups. */
export function number(value: number, digits = 6): string {
  if (!Number.isFinite(value)) return String(value);
  const exact = Number.isInteger(value) && Math.abs(value) < 1e15;
  const rounded = exact ? value : Number(value.toPrecision(digits));
  return Math.abs(rounded) >= 1000 && Math.abs(rounded) < 1e15 ? rounded.toLocaleString('en-US') : String(rounded);
}

/** `1.5 ×`; nothing has a ratio to 0. */
export const ratio = (a: number, b: number): string => (b === 0 ? '–' : `${number(a / b, 3)} ×`);

export function bytes(count: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  // Before the unit is chosen: 999,999 B are 1 MB, not 1000 kB.
  const rounded = Number(count.toPrecision(3));
  const unit = rounded < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(rounded) / 3));
  return `${rounded / 1000 ** unit} ${units[unit]}`;
}
