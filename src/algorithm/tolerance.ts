import type { FaultSettings } from '../network/faults/settings.ts';
import { differentSteps } from './actions.ts';
import type { Plan } from './method.ts';
import { patternOf } from './pattern.ts';
import { choicesIn, flatStages, writesOf } from './stage.ts';

/** Whether its formulas say themselves what is done if a message is not heard. */
export const knowsLoss = ({ method }: Plan): boolean => method.edges?.of === 'heard';

/** Messages to a neighbour in a step, at most. */
function exchangesOf(plan: Plan): number {
  const counts = differentSteps(plan).map(
    (step) =>
      patternOf(plan, step, { columns: 1, compressedBytes: 0 }).work.filter(({ do: kind }) => kind === 'gossip').length,
  );
  return Math.max(...counts);
}

/** Rows besides x that the first step alone gives what later ones go on from. */
function setUp({ stages, rows }: Plan): readonly string[] {
  const first = stages.flatMap((stage) => (stage.do === 'when' && stage.when === 'first' ? stage.inside : []));
  return [...new Set(first.flatMap(writesOf))].filter((name) => name !== 'x' && name in rows);
}

/** Why a method cannot be trained where some replicas do not hear others, if so: it follows from its formulas. */
export function intolerance(plan: Plan, { wait, loss, churn }: FaultSettings): string | undefined {
  const stages = flatStages(plan.stages);
  if (plan.asynchronous !== undefined) return 'averages in pairs that wait for each other, by a queue of its own';
  if (stages.some(({ do: kind }) => kind === 'mean'))
    return 'takes exact means over all replicas, for which all wait for all';
  if (churn !== undefined && choicesIn(plan.stages).length > 0)
    return 'decides by numbers that all replicas must know, which those who were away do not';
  if (churn !== undefined && setUp(plan).length > 0)
    return `sets ${setUp(plan).join(', ')} in the first step, which replicas that were away or begin anew have not done`;
  if (plan.memories.size > 0)
    return 'has neighbours add up compressed messages, which would be wrong for good after one that they did not hear';
  const back = churn !== undefined && churn.back !== 'own';
  if (knowsLoss(plan))
    return back
      ? 'keeps totals of what was sent, which a replica must still have when it is back; use back: own'
      : undefined;
  if (plan.needs.includes('static')) return 'corrects for weights that are the same in every step';
  const rows = new Set(
    stages.flatMap((stage) => (stage.do === 'mix' && stage.sort === 'row' && stage.by !== 'A' ? [stage.from] : [])),
  );
  const oneSided = wait.kind !== 'all' || (loss?.kind === 'keep' && loss.scope === 'message');
  if (plan.needs.includes('doubly') && rows.size > 1 && (oneSided || back))
    return 'averages a second row whose sum over the replicas must stay the same; use loss with scope: edge, churn with back: own, and wait for all';
  if (wait.kind !== 'all' && exchangesOf(plan) > 1)
    return 'sends its neighbours more than one message in a step, which belong together; wait for all';
  return undefined;
}
