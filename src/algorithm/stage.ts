import { UserError } from '../base/error.ts';
import { evaluate, type Formula, namesIn } from '../base/formula.ts';
import type { Between } from '../topology/cohort.ts';
import type { SketchFigure } from './sketch.ts';
import type { Decided, When } from './text.ts';

/**
 * What a step consists of, as data. Rows are vectors as long as the parameters, one for each replica; numbers are one for each
 * replica; scalars are the same on all. The engine executes kinds of stages and knows no method.
 */
export type Stage =
  /** `into` ← the gradient at row `at` of the step's batch; `again`: of the batch that was used last. */
  | { readonly do: 'gradient'; readonly at: string; readonly into: string; readonly again: boolean }
  /** `into` ← the gradient at row `at` of how far what it answers to the step's batch is from what row `teacher` answers. */
  | { readonly do: 'distil'; readonly at: string; readonly teacher: string; readonly into: string }
  /**
   * `into` ← where row `at` comes to along its tangent kernel, on the batches of the replica and of those it hears in this round: after the number
   * of steps among `taus` that leaves the least loss.
   */
  | { readonly do: 'evolve'; readonly at: string; readonly taus: readonly number[]; readonly into: string }
  /** `into` ← the direction in which the experiment's optimizer moves row x, given this gradient. */
  | { readonly do: 'direction'; readonly gradient: string; readonly into: string }
  /** An elementwise formula over rows, numbers and scalars. */
  | { readonly do: 'set'; readonly row: string; readonly to: Formula }
  /** `into` ← a function of whole rows of the replica (functions.ts). */
  | { readonly do: 'apply'; readonly name: string; readonly of: readonly string[]; readonly into: string }
  | { readonly do: 'setNumber'; readonly number: string; readonly to: Formula }
  | { readonly do: 'setScalar'; readonly scalar: string; readonly to: Formula }
  | { readonly do: 'norm'; readonly number: string; readonly row: string }
  /** The optimizer goes on with this row as its momentum, if it has one. */
  | { readonly do: 'momentum'; readonly row: string }
  /** `number` ← a figure of a row over all replicas, the same on all, from short sketches of it (sketch.ts). */
  | {
      readonly do: 'sketch';
      readonly figure: SketchFigure;
      readonly row: string;
      readonly buckets: number;
      readonly number: string;
    }
  /**
   * `into` ← Σ_j W_ij from_j with the round's W, or with its column-stochastic form A; pull: Σ_j W_ij (from_j − from_i); pair: the mean with one
   * neighbour, which has it as well; a number: what the partner in that set of edges has.
   */
  | {
      readonly do: 'mix';
      readonly from: string;
      readonly into: string;
      readonly by: By;
      readonly sort: Mixed;
    }
  /** memory ← memory + C(row − memory), on the replica and on all who hear it. */
  | { readonly do: 'send'; readonly memory: string; readonly row: string }
  /** `into` ← the exact mean over all replicas. */
  | { readonly do: 'mean'; readonly from: string; readonly into: string }
  | {
      readonly do: 'when';
      readonly when: When;
      readonly inside: readonly Stage[];
      readonly otherwise: readonly Stage[];
    };

/** What a row is mixed with: W, its other forms, between servers and clients, or a set of edges, from 1. */
export type By = 'W' | 'A' | 'pull' | 'pair' | Between | number;
export const isBetween = (by: By): by is Between => by === 'up' || by === 'down';
export type Mixed = 'row' | 'number';
export type Sort = 'row' | 'number' | 'scalar';

/** Names that every step knows: the learning rate, that of the step before, the number of the step, from 0, and how many the run has. */
export const clockNames = ['eta', 'etaBefore', 't', 'steps'] as const;

/** Whether a condition holds in a step. */
export type Holds = (when: When) => boolean;

/** The stages of a step, conditions decided. */
export function stagesAt(stages: readonly Stage[], holds: Holds): readonly Exclude<Stage, { do: 'when' }>[] {
  return stages.flatMap((stage) =>
    stage.do === 'when' ? stagesAt(holds(stage.when) ? stage.inside : stage.otherwise, holds) : [stage],
  );
}

/** The conditions in stages. */
export function conditionsIn(stages: readonly Stage[]): readonly When[] {
  return stages.flatMap((stage) =>
    stage.do === 'when' ? [stage.when, ...conditionsIn([...stage.inside, ...stage.otherwise])] : [],
  );
}

/** More are no method that a person wrote. */
const mostPaths = 4096;

/** The ways through stages: for each, which of the conditions that it comes to hold. */
export function pathsIn(
  stages: readonly Stage[],
  isAlways: (when: When) => boolean,
): readonly ReadonlyMap<string, boolean>[] {
  let paths: readonly ReadonlyMap<string, boolean>[] = [new Map()];
  for (const stage of stages) {
    if (stage.do !== 'when') continue;
    const key = JSON.stringify(stage.when);
    const ways = (isAlways(stage.when) ? [true] : [true, false]).flatMap((holds) =>
      pathsIn(holds ? stage.inside : stage.otherwise, isAlways).map((path) => new Map([[key, holds], ...path])),
    );
    // The same condition holds everywhere in a step, or nowhere.
    const agree = (a: ReadonlyMap<string, boolean>, b: ReadonlyMap<string, boolean>) =>
      [...b].every(([each, holds]) => (a.get(each) ?? holds) === holds);
    paths = paths.flatMap((path) => ways.filter((way) => agree(path, way)).map((way) => new Map([...path, ...way])));
    if (paths.length > mostPaths) throw new UserError(`its conditions can hold in more than ${mostPaths} ways`);
  }
  return paths;
}

/** The conditions that hang on numbers, each in its place. */
export const choicesIn = (stages: readonly Stage[]): readonly Decided[] =>
  conditionsIn(stages).filter((when): when is Decided => typeof when === 'object' && 'if' in when);

/** Which of them hold: bit k of a number stands for the k-th. */
export const branchOf = (stages: readonly Stage[], value: (name: string) => number): number =>
  choicesIn(stages).reduce(
    (branch, choice, k) => branch + (evaluate(choice.if, value) >= evaluate(choice.least, value) ? 2 ** k : 0),
    0,
  );

/** What holds in step t; `every H` counts from 1, so that it holds first after H steps. */
export const holdsAt =
  (
    stages: readonly Stage[],
    branch: number,
    { t, steps, scalar }: { readonly t: number; readonly steps: number; readonly scalar: (name: string) => number },
  ): Holds =>
  (when) => {
    if (when === 'first') return t === 0;
    if (when === 'last') return t + 1 === steps;
    if ('at' in when) return when.at.includes(t + 1);
    if ('if' in when) return Math.floor(branch / 2 ** choicesIn(stages).indexOf(when)) % 2 === 1;
    return (t + 1) % scalar(when.every) === 0;
  };

/** What a stage reads and writes, rows, numbers and scalars alike; `T` moves row x. */
export function readsOf(stage: Stage): readonly string[] {
  switch (stage.do) {
    case 'gradient':
    case 'evolve':
      return [stage.at];
    case 'distil':
      return [stage.at, stage.teacher];
    case 'direction':
      return [stage.gradient, 'x'];
    case 'set':
    case 'setNumber':
    case 'setScalar':
      return namesIn(stage.to);
    case 'apply':
      return stage.of;
    case 'norm':
    case 'momentum':
    case 'sketch':
      return [stage.row];
    case 'mix':
    case 'mean':
      return [stage.from];
    case 'send':
      return [stage.row, stage.memory];
    case 'when':
      return [...stage.inside, ...stage.otherwise].flatMap(readsOf);
  }
}

export function writesOf(stage: Stage): readonly string[] {
  switch (stage.do) {
    case 'gradient':
    case 'distil':
    case 'evolve':
    case 'direction':
    case 'mix':
    case 'mean':
    case 'apply':
      return [stage.into];
    case 'set':
      return [stage.row];
    case 'setNumber':
    case 'norm':
    case 'sketch':
      return [stage.number];
    case 'momentum':
      return [];
    case 'setScalar':
      return [stage.scalar];
    case 'send':
      return [stage.memory];
    case 'when':
      return [...stage.inside, ...stage.otherwise].flatMap(writesOf);
  }
}

/** The names that some step reads before it writes them: what must outlast a step. */
export function carriedOver(stages: readonly Stage[]): ReadonlySet<string> {
  const carried = new Set<string>();
  const walk = (list: readonly Stage[], written: ReadonlySet<string>): ReadonlySet<string> => {
    let now = written;
    for (const stage of list) {
      if (stage.do === 'when') {
        // Decided by what was there when the step began.
        const { when } = stage;
        if (typeof when === 'object' && 'if' in when)
          for (const name of [when.if, when.least].flatMap(namesIn)) carried.add(name);
        const [inside, otherwise] = [walk(stage.inside, now), walk(stage.otherwise, now)];
        now = new Set([...inside].filter((name) => otherwise.has(name)));
        continue;
      }
      for (const name of readsOf(stage)) if (!now.has(name)) carried.add(name);
      now = new Set([...now, ...writesOf(stage)]);
    }
    return now;
  };
  walk(stages, new Set());
  return carried;
}

/** All stages, those under conditions too. */
export function flatStages(stages: readonly Stage[]): Exclude<Stage, { do: 'when' }>[] {
  return stages.flatMap((stage) => (stage.do === 'when' ? flatStages([...stage.inside, ...stage.otherwise]) : [stage]));
}
