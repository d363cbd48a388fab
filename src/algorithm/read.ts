import { UserError } from '../base/error.ts';
import { type Formula, namesIn, operations } from '../base/formula.ts';
import { overEdges } from './edges.ts';
import { rowFunctions } from './functions.ts';
import { clockNames, type Sort, type Stage } from './stage.ts';
import { type Line, parseStep } from './text.ts';

const rank: Readonly<Record<Sort, number>> = { scalar: 0, number: 1, row: 2 };
const sorts: readonly Sort[] = ['scalar', 'number', 'row'];

/** Reads the text of a step into stages: what is nested in a formula and needs a stage of its own gets a scratch row before it. */
export function stagesOf(
  text: string,
  known: Readonly<Record<string, Sort>>,
  edges?: { readonly names: readonly string[]; readonly sets: number },
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

      const numberOf = (flat: Formula): string => {
        if ('name' in flat && names.get(flat.name) === 'number') return flat.name;
        const number = temporary('number');
        stages.push({ do: 'setNumber', number, to: flat });
        return number;
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
          case 'distil': {
            if (of.length !== 2) fail(`distil takes two rows, the model and its teacher, got ${of.length}`);
            const [at, teacher] = [rowOf(of[0]!), rowOf(of[1]!)];
            const result = target('row');
            stages.push({ do: 'distil', at, teacher, into: result });
            return { name: result };
          }
          case 'evolve': {
            const [first, ...counts] = of;
            const taus = counts.map((each) => ('value' in each ? each.value : Number.NaN));
            if (taus.length === 0 || !taus.every((tau) => Number.isInteger(tau) && tau > 0))
              fail('evolve takes a row and numbers of steps to choose from, as in evolve(x, 25, 50)');
            const at = rowOf(first!);
            const result = target('row');
            stages.push({ do: 'evolve', at, taus, into: result });
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
          case 'pull':
          case 'pair':
          case 'up':
          case 'down':
          case 'over': {
            const [first, set] = of as readonly [Formula, Formula?];
            if (op === 'over' && set === undefined) fail('over is for methods that say which edges they use');
            const flat = flatten(op === 'over' ? first : one());
            const number = sortOf(flat) === 'number' || (op === 'over' && sortOf(flat) === 'scalar');
            const from = number ? numberOf(flat) : rowOf(flat);
            const result = target(number ? 'number' : 'row');
            stages.push({
              do: 'mix',
              from,
              into: result,
              by: op === 'over' ? (set as { value: number }).value : op,
              sort: number ? 'number' : 'row',
            });
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
          case 'centre':
          case 'spread':
          case 'common': {
            const [first, count] = of as readonly [Formula, Formula?];
            const buckets = count !== undefined && 'value' in count ? count.value : 0;
            if (of.length !== 2 || !Number.isInteger(buckets) || buckets < 1 || buckets > 4096)
              fail(`${op} takes a row and a number of buckets from 1 to 4096, as in ${op}(x, 16)`);
            const row = rowOf(first);
            const result = target('number');
            stages.push({ do: 'sketch', figure: op, row, buckets, number: result });
            return { name: result };
          }
          case 'C':
            return fail('a compressed message is added to a memory, as in h += C(x - h)');
        }
        const row = rowFunctions[op];
        if (row !== undefined) {
          if (of.length !== row.takes) fail(`${op} takes ${row.takes} rows, got ${of.length}`);
          const from = of.map(rowOf);
          const result = target('row');
          stages.push({ do: 'apply', name: op, of: from, into: result });
          return { name: result };
        }
        const count = operations[op]?.length;
        if (count === undefined)
          fail(
            `"${op}" is not a function; there are grad, again, distil, evolve, T, W, A, pull, pair, mean, norm, spread, centre, common, ${Object.keys(operations).filter(isWord).join(', ')}`,
          );
        if (of.length !== count) fail(`${op} takes ${count} arguments, got ${of.length}`);
        const parts = of.map((part) => flatten(part));
        if (op === '^' && parts.some((part) => sortOf(part) === 'row'))
          fail('a row cannot be raised to a power; write g*g for g^2, sqrt(g) for g^(1/2)');
        return { op, of: parts };
      };

      if ('when' in line) {
        const { when } = line;
        if (typeof when === 'object' && 'every' in when && names.get(when.every) !== 'scalar')
          fail(`every ${when.every}: "${when.every}" is not a setting`);
        if (typeof when === 'object' && 'if' in when)
          for (const name of [when.if, when.least].flatMap(namesIn))
            if (names.get(name) === undefined || names.get(name) === 'row')
              fail(`if: "${name}" is no number; a condition compares numbers and settings`);
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
      if (name === 'momentum') {
        stages.push({ do: 'momentum', row: rowOf(line.to) });
        return stages;
      }
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
  const lines = parseStep(text);
  const stages = compile(edges === undefined ? lines : overEdges(lines, edges.names, edges.sets));
  setOnce(stages);
  return { stages, names: Object.fromEntries(names) };
}

/** Settings and what follows from them are known before a step begins, so that each has one value in it. */
function setOnce(stages: readonly Stage[], before: ReadonlySet<string> = new Set()): ReadonlySet<string> {
  let known = before;
  for (const stage of stages) {
    if (stage.do === 'when') known = new Set([...setOnce(stage.inside, known), ...setOnce(stage.otherwise, known)]);
    if (stage.do !== 'setScalar') continue;
    if (known.has(stage.scalar))
      throw new UserError(`"${stage.scalar}" is set twice in a step, to what does not depend on rows; use two names`);
    known = new Set([...known, stage.scalar]);
  }
  return known;
}

const isWord = (name: string) => /^[a-z]{3}/.test(name);
