import { type RowFunction, spanBytes, type TensorPlace } from './function.ts';
import { outer, product, refine } from './low-rank.ts';
import { flatStages, type Stage } from './stage.ts';

/** Every function of rows, by its name in the text of methods. */
export const rowFunctions: Readonly<Record<string, RowFunction>> = { product, refine, outer };

/** The bytes of the longest message that is part of a row. */
export function longestPart(
  { stages, scalars }: { readonly stages: readonly Stage[]; readonly scalars: Readonly<Record<string, number>> },
  tensors: readonly TensorPlace[],
): number {
  const bytes = flatStages(stages).flatMap((stage) => {
    const spans = stage.do === 'apply' ? rowFunctions[stage.name]!.spans : undefined;
    // Which part it is may differ between odd and even steps.
    return [1, 2].map((t) => spanBytes(spans?.({ tensors, scalar: (name) => ({ ...scalars, t })[name]! }) ?? []));
  });
  return Math.max(0, ...bytes);
}
