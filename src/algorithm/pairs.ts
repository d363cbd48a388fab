import { isDeepStrictEqual } from 'node:util';
import { UserError } from '../base/error.ts';
import { stagesOf } from './read.ts';
import { flatStages, type Stage } from './stage.ts';

/**
 * Methods whose replicas average in pairs, each when it has computed, so that learning follows time. A step is then one replica's own, and can be no
 * other than these: s is the row at which its gradient began, and others may change x until the gradient is applied.
 */
export const pairSteps = {
  wait: 'g = grad(s); x = pair(x); x = x - eta*T(g); s = x',
  overlap: 'g = grad(s); s = x; x = pair(x); x = x - eta*T(g)',
} as const;

export const pairs = (stages: readonly Stage[]): boolean =>
  flatStages(stages).some((stage) => stage.do === 'mix' && stage.by === 'pair');

const kept = { eta: 'scalar', x: 'row', s: 'row' } as const;
const stagesIn = (text: string) => stagesOf(text, kept).stages;

/** Whether the next gradient begins before the exchange ends. */
export const overlaps = (stages: readonly Stage[]): boolean => isDeepStrictEqual(stages, stagesIn(pairSteps.overlap));

/** Refuses a step with pair(x) that the queue cannot carry out. */
export function requirePairStep(stages: readonly Stage[]): void {
  if (!Object.values(pairSteps).some((text) => isDeepStrictEqual(stages, stagesIn(text))))
    throw new UserError('with pair(x) a step is one replica’s own and can only be that of ad-psgd', {
      hint: `write it as: ${pairSteps.wait}, with rows: { s: 'x' }`,
    });
}
