import { isDeepStrictEqual } from 'node:util';
import { evaluate, type Formula } from '../base/formula.ts';
import type { Plan } from './method.ts';
import {
  branchOf,
  choicesIn,
  conditionsIn,
  flatStages,
  type Holds,
  holdsAt,
  type Stage,
  readsOf as stageReads,
  stagesAt,
  writesOf as stageWrites,
} from './stage.ts';

/**
 * What the engine does in one step: the stages of that step, with those taken together that one program computes, and the place where
 * replicas are measured.
 */
export type Action =
  | Exclude<Stage, { do: 'when' | 'setScalar' }>
  /** `into` ← x − η·T(∇x): gradient and optimizer in one program. */
  | { readonly do: 'adapt'; readonly into: string }
  /** `into` ← x − η·T(gradient). */
  | { readonly do: 'update'; readonly gradient: string; readonly into: string }
  /** The same where gradient and x are equal on all replicas, the gradient being the mean of a row. */
  | { readonly do: 'updateTogether'; readonly meanOf: string; readonly into: string }
  /** All replicas have their gradients: in this row, unless they were used at once. */
  | { readonly do: 'signal'; readonly gradient: string | undefined }
  /** What is before averaging is measured. */
  | { readonly do: 'probe'; readonly row: string };

export interface StepActions {
  /** Settings and what follows from them and the clock, by name. */
  readonly scalars: ReadonlyMap<string, number>;
  readonly actions: readonly Action[];
  /** For each action, the rows that nobody reads after it. */
  readonly dead: readonly (readonly string[])[];
  /** Which conditions held that hang on numbers: bit k for the k-th; undefined if there are none. */
  readonly branch: number | undefined;
}

/** What an action reads and writes, rows, numbers and scalars alike. */
export function readsOf(action: Action | Stage): readonly string[] {
  switch (action.do) {
    case 'adapt':
      return ['x'];
    case 'update':
      return ['x', action.gradient];
    case 'updateTogether':
      return ['x', action.meanOf];
    case 'signal':
      return action.gradient === undefined ? [] : [action.gradient];
    case 'probe':
      return [action.row];
    default:
      return stageReads(action);
  }
}

export function writesOf(action: Action | Stage): readonly string[] {
  switch (action.do) {
    case 'adapt':
    case 'update':
    case 'updateTogether':
      return [action.into];
    case 'signal':
    case 'probe':
      return [];
    default:
      return stageWrites(action);
  }
}

/** Stages that exchange something with other replicas. */
const exchanges: readonly Action['do'][] = ['mix', 'mean', 'send', 'updateTogether', 'sketch'];
export const isExchange = (action: Action): boolean => exchanges.includes(action.do);

/** Rows that must be there after a step: what the method carries over, and its model. */
export const keptRows = ({ rows, modelRow }: Plan): readonly string[] => [...new Set([...Object.keys(rows), modelRow])];

const decent = (d: string): Formula => ({
  op: '-',
  of: [{ name: 'x' }, { op: '*', of: [{ name: 'eta' }, { name: d }] }],
});

/** For each place, the names that are read there or later, before they are written anew; `kept` are read in the end. */
function liveAfter(actions: readonly Action[], kept: readonly string[]): ReadonlySet<string>[] {
  const live: ReadonlySet<string>[] = [];
  let now: ReadonlySet<string> = new Set(kept);
  for (const action of actions.toReversed()) {
    live.unshift(now);
    const written = writesOf(action);
    // A memory keeps what it had, and adds to it.
    const left = [...now].filter((name) => !written.includes(name));
    now = new Set([...left, ...readsOf(action)]);
  }
  return live;
}

/** Takes neighbouring stages together where one program does both and nobody else reads what is between them. */
function fused(
  actions: readonly Action[],
  kept: readonly string[],
  equal: ReadonlySet<string>,
  apart: boolean,
): readonly Action[] {
  const live = liveAfter(actions, kept);
  for (let at = 0; at + 1 < actions.length; at++) {
    const [first, second] = [actions[at]!, actions[at + 1]!];
    const replaced = pair(first, second, live[at + 1]!, equal, apart);
    if (replaced !== undefined) return fused(actions.toSpliced(at, 2, replaced), kept, equal, apart);
  }
  return actions;
}

function pair(
  first: Action,
  second: Action,
  live: ReadonlySet<string>,
  equal: ReadonlySet<string>,
  apart: boolean,
): Action | undefined {
  if (first.do === 'direction' && second.do === 'set' && !live.has(first.into))
    if (isDeepStrictEqual(second.to, decent(first.into)))
      return { do: 'update', gradient: first.gradient, into: second.row };
  if (first.do === 'gradient' && second.do === 'update' && first.into === second.gradient)
    if (!apart && first.at === 'x' && !first.again && !live.has(first.into)) return { do: 'adapt', into: second.into };
  if (first.do === 'mean' && second.do === 'update' && first.into === second.gradient)
    if (equal.has('x') && !live.has(first.into)) return { do: 'updateTogether', meanOf: first.from, into: second.into };
  return undefined;
}

/**
 * Where replicas are measured: after the local step and before what they exchange next, if that makes the model: the model itself, if it has moved
 * since the gradient, or what is averaged to become the model. Otherwise at the end of the step.
 */
function probed(actions: readonly Action[], model: string): readonly Action[] {
  const moved = new Set<string>();
  let gradient = false;
  for (const [at, action] of actions.entries()) {
    if (gradient && isExchange(action)) {
      const row = moved.has(model) ? model : becoming(actions, at, model, moved);
      if (row !== undefined) return actions.toSpliced(at, 0, { do: 'probe', row });
    }
    gradient ||= action.do === 'gradient' || action.do === 'adapt';
    if (gradient) for (const name of writesOf(action)) moved.add(name);
  }
  return [...actions, { do: 'probe', row: model }];
}

/** The row whose average becomes the model, at once or by a later x = s. */
function becoming(
  actions: readonly Action[],
  at: number,
  model: string,
  moved: ReadonlySet<string>,
): string | undefined {
  const mix = actions[at]!;
  if (mix.do !== 'mix' || !moved.has(mix.from)) return undefined;
  const copied = actions
    .slice(at + 1)
    .some((later) => later.do === 'set' && later.row === model && 'name' in later.to && later.to.name === mix.into);
  return mix.into === model || copied ? mix.from : undefined;
}

/** When a step is: its number from 0, how many there are, its learning rate and that of the step before. */
export interface Moment {
  readonly t: number;
  readonly steps: number;
  readonly eta: number;
  readonly etaBefore: number;
  /** What conditions hang on: the numbers before the step, those at the start unless said; or which of them held. */
  readonly number?: (name: string) => number;
  readonly branch?: number | undefined;
}

/** How a step is to be carried out. */
export interface Wishes {
  /** Somebody looks on when the gradients are there. */
  readonly signal?: boolean;
  /** Gradients are computed apart from the optimizer. */
  readonly apart?: boolean;
}

type Compiled = Pick<StepActions, 'actions' | 'dead'>;
const compiled = new WeakMap<Plan, Map<string, Compiled>>();

/** The actions of a step; compiled once for each set of conditions that hold. */
export function stepOf(
  plan: Plan,
  { number = (name) => plan.numbers[name]!, branch: given, ...clock }: Moment,
  wishes: Wishes = {},
): StepActions {
  const scalars = new Map(Object.entries({ ...plan.scalars, ...clock }));
  const scalar = (name: string) => scalars.get(name)!;
  const branch = given ?? branchOf(plan.stages, (name) => scalars.get(name) ?? number(name));
  const holds = holdsAt(plan.stages, branch, { ...clock, scalar });
  for (const stage of stagesAt(plan.stages, holds))
    if (stage.do === 'setScalar') scalars.set(stage.scalar, evaluate(stage.to, scalar));
  const known = compiled.get(plan) ?? new Map<string, Compiled>();
  compiled.set(plan, known);
  const key = JSON.stringify([conditionsIn(plan.stages).map(holds), wishes]);
  const step = known.get(key) ?? compile(plan, holds, wishes);
  known.set(key, step);
  return { ...step, scalars, branch: choicesIn(plan.stages).length === 0 ? undefined : branch };
}

function compile(plan: Plan, holds: Holds, { signal = false, ...wishes }: Wishes): Compiled {
  // What is asked for again must be a program of its own, in all steps.
  const again = flatStages(plan.stages).some((stage) => stage.do === 'gradient' && stage.again);
  const apart = wishes.apart === true || again;
  const stages = stagesAt([...plan.stages, ...plan.model], holds);
  const actions = stages.flatMap((stage): Action[] => {
    if (stage.do === 'setScalar') return [];
    return stage.do === 'gradient' && signal && apart ? [stage, { do: 'signal', gradient: stage.into }] : [stage];
  });
  const kept = keptRows(plan);
  const together = fused(actions, kept, plan.equal, apart).flatMap((action): Action[] =>
    action.do === 'adapt' && signal ? [action, { do: 'signal', gradient: undefined }] : [action],
  );
  const all = probed(together, plan.modelRow);
  const live = liveAfter(all, kept);
  const dead = all.map((action, at) =>
    [...new Set([...readsOf(action), ...writesOf(action)])].filter((name) => !live[at]!.has(name)),
  );
  return { actions: all, dead };
}
