import { isDeepStrictEqual } from 'node:util';
import { evaluate, type Formula } from '../base/formula.ts';
import type { Plan } from './method.ts';
import {
  branchOf,
  choicesIn,
  conditionsIn,
  type Holds,
  holdsAt,
  pathsIn,
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

/** What finds a loss on the step's batch. */
export const computesGradient = (action: Action): boolean =>
  action.do === 'adapt' || action.do === 'evolve' || (action.do === 'gradient' && !action.again);

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

/** Which programs the steps of a plan are made of, the same in all of them: replicas have one set of optimizer slots. */
interface Form {
  /** Gradient and optimizer are programs of their own. */
  readonly apart: boolean;
  /** Replicas are equal, and one optimizer moves them all. */
  readonly together: boolean;
}

/** Takes neighbouring stages together where one program does both and nobody else reads what is between them. */
function fused(actions: readonly Action[], kept: readonly string[], form: Form): readonly Action[] {
  const live = liveAfter(actions, kept);
  for (let at = 0; at + 1 < actions.length; at++) {
    const [first, second] = [actions[at]!, actions[at + 1]!];
    const replaced = pair(first, second, live[at + 1]!, form);
    if (replaced !== undefined) return fused(actions.toSpliced(at, 2, replaced), kept, form);
  }
  return actions;
}

function pair(first: Action, second: Action, live: ReadonlySet<string>, { apart, together }: Form): Action | undefined {
  if (first.do === 'direction' && second.do === 'set' && !live.has(first.into))
    if (isDeepStrictEqual(second.to, decent(first.into)))
      return { do: 'update', gradient: first.gradient, into: second.row };
  if (first.do === 'gradient' && second.do === 'update' && first.into === second.gradient)
    if (!apart && first.at === 'x' && !first.again && !live.has(first.into)) return { do: 'adapt', into: second.into };
  if (first.do === 'mean' && second.do === 'update' && first.into === second.gradient)
    if (together && second.into === 'x' && !live.has(first.into))
      return { do: 'updateTogether', meanOf: first.from, into: 'x' };
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

const forms = new WeakMap<Plan, Form>();

/** What is taken together in some steps of a plan must be in all of them. */
function formOf(plan: Plan): Form {
  const known = forms.get(plan);
  if (known !== undefined) return known;
  const kindsIn = (form: Form) =>
    new Set(
      everyHolds(plan).flatMap((holds) =>
        fused(withoutScalars(stagesAt([...plan.stages, ...plan.model], holds)), keptRows(plan), form).map((action) =>
          action.do === 'gradient' && action.again ? 'again' : action.do,
        ),
      ),
    );
  const equal = plan.equal.has('x');
  const whole = kindsIn({ apart: false, together: equal });
  const others = ['gradient', 'direction', 'update', 'updateTogether'] as const;
  // What is asked for again must be a program of its own.
  const apart = whole.has('again') || (whole.has('adapt') && others.some((kind) => whole.has(kind)));
  const split = kindsIn({ apart, together: equal });
  const form = { apart, together: equal && !split.has('update') && !split.has('direction') };
  forms.set(plan, form);
  return form;
}

const withoutScalars = (stages: readonly Exclude<Stage, { do: 'when' }>[]) =>
  stages.filter((stage) => stage.do !== 'setScalar');

/** Every set of conditions that a step may find, as if any could hold together; what is due every step always does. */
const everyHolds = ({ stages, scalars }: Plan): readonly Holds[] =>
  pathsIn(stages, (when) => typeof when === 'object' && 'every' in when && scalars[when.every] === 1).map(
    (path) => (when) => path.get(JSON.stringify(when)) === true,
  );

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
  const step = stepWith(plan, holds, scalars, wishes);
  return { ...step, branch: choicesIn(plan.stages).length === 0 ? undefined : branch };
}

/** The different steps there are: conditions that hold and those that do not. */
export const differentSteps = (plan: Plan, wishes: Wishes = {}): StepActions[] =>
  everyHolds(plan).map((holds) => {
    const clock = { t: 1, steps: Number.POSITIVE_INFINITY, eta: 1, etaBefore: 1 };
    const scalars = new Map(Object.entries({ ...plan.scalars, ...clock }));
    return { ...stepWith(plan, holds, scalars, wishes), branch: undefined };
  });

function stepWith(plan: Plan, holds: Holds, scalars: Map<string, number>, wishes: Wishes): Omit<StepActions, 'branch'> {
  for (const stage of stagesAt(plan.stages, holds))
    if (stage.do === 'setScalar')
      scalars.set(
        stage.scalar,
        evaluate(stage.to, (name) => scalars.get(name)!),
      );
  const known = compiled.get(plan) ?? new Map<string, Compiled>();
  compiled.set(plan, known);
  const key = JSON.stringify([conditionsIn(plan.stages).map(holds), wishes]);
  const step = known.get(key) ?? compile(plan, holds, wishes);
  known.set(key, step);
  return { ...step, scalars };
}

function compile(plan: Plan, holds: Holds, { signal = false, ...wishes }: Wishes): Compiled {
  const form = formOf(plan);
  const apart = wishes.apart === true || form.apart;
  const stages = stagesAt([...plan.stages, ...plan.model], holds);
  const actions = stages.flatMap((stage): Action[] => {
    if (stage.do === 'setScalar') return [];
    return stage.do === 'gradient' && signal && apart ? [stage, { do: 'signal', gradient: stage.into }] : [stage];
  });
  const kept = keptRows(plan);
  const together = fused(actions, kept, { ...form, apart }).flatMap((action): Action[] =>
    action.do === 'adapt' && signal ? [action, { do: 'signal', gradient: undefined }] : [action],
  );
  const all = probed(together, plan.modelRow);
  const live = liveAfter(all, kept);
  const dead = all.map((action, at) =>
    [...new Set([...readsOf(action), ...writesOf(action)])].filter((name) => !live[at]!.has(name)),
  );
  return { actions: all, dead };
}
