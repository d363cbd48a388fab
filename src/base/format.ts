/** Numbers as people read them, in terminals, tables and figures alike. */

/** Up to `digits` significant digits, without trailing zeros; thousands in groups. */
export function number(value: number, digits = 6): string {
  if (!Number.isFinite(value)) return String(value);
  const exact = Number.isInteger(value) && Math.abs(value) < 1e15;
  const rounded = exact ? value : Number(value.toPrecision(digits));
  return Math.abs(rounded) >= 1000 && Math.abs(rounded) < 1e15 ? rounded.toLocaleString('en-US') : String(rounded);
}

export function bytes(count: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  const unit = count < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(count) / 3));
  return `${Number((count / 1000 ** unit).toPrecision(3))} ${units[unit]}`;
}
