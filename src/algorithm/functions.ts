import { type RowFunction, sentBytes, type TensorPlace } from './function.ts';
import { outer, product, refine } from './low-rank.ts';
import { bits, erk, regrow, within } from './masks.ts';
import { rounded } from './rounding.ts';
import { flatStages, type Stage } from './stage.ts';

/** Every function of rows, by its name in the text of methods. */
export const rowFunctions: Readonly<Record<string, RowFunction>> = {
  product,
  refine,
  outer,
  erk,
  regrow,
  bits,
  within,
  rounded,
};

/** The bytes of the longest message that is part of a row. */
export function longestPart(
  { stages, scalars }: { readonly stages: readonly Stage[]; readonly scalars: Readonly<Record<string, number>> },
  tensors: readonly TensorPlace[],
): number {
  const bytes = flatStages(stages).flatMap((stage) => {
    if (stage.do !== 'apply') return [];
    // Which part it is may differ between odd and even steps.
    const given = (t: number) => ({ tensors, scalar: (name: string) => ({ ...scalars, t })[name]! });
    return [1, 2].map((t) => sentBytes(rowFunctions[stage.name]!, given(t)) ?? 0);
  });
  return Math.max(0, ...bytes);
}
