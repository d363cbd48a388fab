import { UserError } from '../base/error.ts';
import { type Formula, namesIn, operations } from '../base/formula.ts';
import { type Line, parseStep, type When } from './text.ts';

/**
 * What a step consists of, as data. Rows are vectors as long as the parameters, one for each replica; numbers are one for each
 * replica; scalars are the same on all. The engine executes kinds of stages and knows no method.
 */
export type Stage =
  /** `into` ← the gradient at row `at` of the step's batch; `again`: of the batch that was used last. */
  | { readonly do: 'gradient'; readonly at: string; readonly into: string; readonly again: boolean }
  /** `into` ← the direction in which the experiment's optimizer moves row x, given this gradient. */
  | { readonly do: 'direction'; readonly gradient: string; readonly into: string }
  /** An elementwise formula over rows, numbers and scalars. */
  | { readonly do: 'set'; readonly row: string; readonly to: Formula }
  | { readonly do: 'setNumber'; readonly number: string; readonly to: Formula }
  | { readonly do: 'setScalar'; readonly scalar: string; readonly to: Formula }
  | { readonly do: 'norm'; readonly number: string; readonly row: string }
  /** `into` ← Σ_j W_ij from_j with the round's W, or with its column-stochastic form A; pull: Σ_j W_ij (from_j − from_i). */
  | {
      readonly do: 'mix';
      readonly from: string;
      readonly into: string;
      readonly by: 'W' | 'A' | 'pull';
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

export type Mixed = 'row' | 'number';
export type Sort = 'row' | 'number' | 'scalar';

/** Names that every step knows: the learning rate, that of the step before, and the number of the step, from 0. */
export const clockNames = ['eta', 'etaBefore', 't'] as const;

const rank: Readonly<Record<Sort, number>> = { scalar: 0, number: 1, row: 2 };
const sorts: readonly Sort[] = ['scalar', 'number', 'row'];

/** Reads the text of a step into stages: what is nested in a formula and needs a stage of its own gets a scratch row before it. */
export function stagesOf(
  text: string,
  known: Readonly<Record<string, Sort>>,
): { readonly stages: readonly Stage[]; readonly names: Readonly<Record<string, Sort>> } {
  const names = new Map<string, Sort>(Object.entries(known));
  let scratch = 0;

  function compile(lines: readonly Line[]): Stage[] {
    return lines.flatMap((line): Stage[] => {
      const stages: Stage[] = [];
      const fail = (why: string): never => {
        throw new UserError(`line ${line.line}: ${why}`);
      };
      const temporary = (sort: Sort): string => {
        const name = `${sort} ${++scratch}`;
        names.set(name, sort);
        return name;
      };
      const sortOf = (formula: Formula): Sort =>
        sorts[Math.max(0, ...namesIn(formula).map((name) => rank[names.get(name)!]))]!;

      /** The row that a formula names, or a scratch row that is set to it. */
      const rowOf = (formula: Formula): string => {
        const flat = flatten(formula);
        if ('name' in flat && names.get(flat.name) === 'row') return flat.name;
        if (sortOf(flat) !== 'row') fail('a row is expected here, as in W(x)');
        const row = temporary('row');
        stages.push({ do: 'set', row, to: flat });
        return row;
      };

      /** Replaces what needs a stage of its own by the row or number it leaves; `into` is where the result may go at once. */
      const flatten = (formula: Formula, into?: string): Formula => {
        if ('value' in formula) return formula;
        if ('name' in formula) {
          if (!names.has(formula.name))
            fail(`"${formula.name}" is not known; a row that is read before it is set needs a start value in rows`);
          return formula;
        }
        const { op, of } = formula;
        const target = (sort: Sort): string => {
          if (into !== undefined && !names.has(into)) names.set(into, sort);
          return into !== undefined && names.get(into) === sort ? into : temporary(sort);
        };
        const one = () => (of.length === 1 ? of[0]! : fail(`${op} takes one argument, got ${of.length}`));
        switch (op) {
          case 'grad':
          case 'again': {
            const at = rowOf(one());
            const result = target('row');
            stages.push({ do: 'gradient', at, into: result, again: op === 'again' });
            return { name: result };
          }
          case 'T': {
            const gradient = rowOf(one());
            const result = target('row');
            stages.push({ do: 'direction', gradient, into: result });
            return { name: result };
          }
          case 'W':
          case 'A':
          case 'pull': {
            const flat = flatten(one());
            const number = 'name' in flat && names.get(flat.name) === 'number';
            const from = number ? (flat as { name: string }).name : rowOf(flat);
            const result = target(number ? 'number' : 'row');
            stages.push({ do: 'mix', from, into: result, by: op, sort: number ? 'number' : 'row' });
            return { name: result };
          }
          case 'mean': {
            const from = rowOf(one());
            const result = target('row');
            stages.push({ do: 'mean', from, into: result });
            return { name: result };
          }
          case 'norm': {
            const row = rowOf(one());
            const result = target('number');
            stages.push({ do: 'norm', number: result, row });
            return { name: result };
          }
          case 'C':
            return fail('a compressed message is added to a memory, as in h += C(x - h)');
        }
        const count = operations[op]?.length;
        if (count === undefined)
          fail(
            `"${op}" is not a function; there are grad, again, T, W, A, pull, mean, norm, ${Object.keys(operations).filter(isWord).join(', ')}`,
          );
        if (of.length !== count) fail(`${op} takes ${count} arguments, got ${of.length}`);
        return { op, of: of.map((part) => flatten(part)) };
      };

      if ('when' in line) {
        const { when } = line;
        if (typeof when === 'object' && names.get(when.every) !== 'scalar')
          fail(`every ${when.every}: "${when.every}" is not a setting`);
        return [{ do: 'when', when, inside: compile(line.inside), otherwise: compile(line.otherwise) }];
      }
      if ('send' in line) {
        const { send: memory, message } = line;
        const difference = 'op' in message && message.op === '-' ? message.of : undefined;
        const [sent, subtracted] = difference ?? [];
        if (sent === undefined || subtracted === undefined || !('name' in subtracted) || subtracted.name !== memory)
          fail(`what is added to a memory is the compressed difference to it, as in ${memory} += C(x - ${memory})`);
        if (names.get(memory) !== 'row') fail(`"${memory}" is no row`);
        const row = rowOf(sent!);
        stages.push({ do: 'send', memory, row });
        return stages;
      }
      const { set: name } = line;
      if (clockNames.some((each) => each === name) || known[name] === 'scalar') fail(`"${name}" cannot be set`);
      const to = flatten(line.to, name);
      if ('name' in to && to.name === name) return stages;
      const sort = names.get(name) ?? sortOf(to);
      if (rank[sortOf(to)] > rank[sort]) fail(`"${name}" is a ${sort}, but what it is set to is a ${sortOf(to)}`);
      names.set(name, sort);
      if (sort === 'row') stages.push({ do: 'set', row: name, to });
      else if (sort === 'number') stages.push({ do: 'setNumber', number: name, to });
      else stages.push({ do: 'setScalar', scalar: name, to });
      return stages;
    });
  }
  const stages = compile(parseStep(text));
  return { stages, names: Object.fromEntries(names) };
}

const isWord = (name: string) => /^[a-z]{3}/.test(name);

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

/** What holds in step t; `every H` counts from 1, so that it holds first after H steps. */
export const holdsAt =
  ({
    t,
    last,
    scalar,
  }: {
    readonly t: number;
    readonly last: boolean;
    readonly scalar: (name: string) => number;
  }): Holds =>
  (when) =>
    when === 'first' ? t === 0 : when === 'last' ? last : (t + 1) % scalar(when.every) === 0;

/** What a stage reads and writes, rows, numbers and scalars alike; `T` moves row x. */
export function readsOf(stage: Stage): readonly string[] {
  switch (stage.do) {
    case 'gradient':
      return [stage.at];
    case 'direction':
      return [stage.gradient, 'x'];
    case 'set':
    case 'setNumber':
    case 'setScalar':
      return namesIn(stage.to);
    case 'norm':
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
    case 'direction':
    case 'mix':
    case 'mean':
      return [stage.into];
    case 'set':
      return [stage.row];
    case 'setNumber':
    case 'norm':
      return [stage.number];
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
