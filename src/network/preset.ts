/** A network by name, as plain data: what an experiment could say itself. One row in presets.ts. */
export interface Preset {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly summary: string;
  /** Where the figures are from; "recalled" if nobody looked them up. */
  readonly source: string;
  readonly network: { readonly kind: string; readonly [setting: string]: unknown };
  /** What is known of its devices, as in an experiment. */
  readonly devices?: Readonly<Record<string, unknown>>;
}
