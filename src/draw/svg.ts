export interface Position {
  readonly x: number;
  readonly y: number;
}

export const coordinate = (value: number) => String(Math.round(value * 10) / 10);
export const at = ({ x, y }: Position) => `${coordinate(x)} ${coordinate(y)}`;
export const clamp = (value: number, low: number, high: number) => Math.min(high, Math.max(low, value));
export const escaped = (text: string) =>
  text.replace(/[<>&"]/g, (c) => ({ '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' })[c]!);
