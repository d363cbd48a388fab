/**
 * A formula as data: a number, a name, or an operation on formulas. The same formula is evaluated in float64 here, and by kernels
 * over whole rows in float32.
 */
export type Formula =
  | { readonly value: number }
  | { readonly name: string }
  | { readonly op: string; readonly of: readonly Formula[] };

/** What elementwise operations do, in float64; kernels do the same in float32. */
export const operations: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '^': (a, b) => a ** b,
  negative: (a) => -a,
  sqrt: (a) => Math.sqrt(a),
  abs: (a) => Math.abs(a),
  min: (a, b) => Math.min(a, b),
  max: (a, b) => Math.max(a, b),
};

/** The value of a formula, given those of its names. */
export function evaluate(formula: Formula, value: (name: string) => number): number {
  if ('value' in formula) return formula.value;
  if ('name' in formula) return value(formula.name);
  const [a = 0, b = 0] = formula.of.map((part) => evaluate(part, value));
  return operations[formula.op]!(a, b);
}

/** The names that a formula reads. */
export function namesIn(formula: Formula): string[] {
  if ('value' in formula) return [];
  return 'name' in formula ? [formula.name] : formula.of.flatMap(namesIn);
}

/** A formula as text again, with the brackets it needs. */
export function formulaText(formula: Formula, within = 0): string {
  if ('value' in formula) return String(formula.value);
  if ('name' in formula) return formula.name;
  const { op, of } = formula;
  const level = { '+': 1, '-': 1, '*': 2, '/': 2, negative: 3, '^': 4 }[op];
  if (level === undefined) return `${op}(${of.map((part) => formulaText(part)).join(', ')})`;
  const [left, right] = of;
  const text =
    op === 'negative'
      ? `-${formulaText(left!, level)}`
      : `${formulaText(left!, level)}${op === '^' ? op : ` ${op} `}${formulaText(right!, level + 1)}`;
  return level < within ? `(${text})` : text;
}
