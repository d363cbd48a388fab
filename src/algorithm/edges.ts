import { UserError } from '../base/error.ts';
import { type Formula, namesIn } from '../base/formula.ts';
import type { Line } from './text.ts';

/**
 * Formulas over edges become formulas over replicas: the edges of a topology are in sets in which no two meet (topology/edges.ts), so a row of each
 * edge is an ordinary row for each set, and over(r) hands it to the partner in that set. In the text m stands for the row of one edge,
 * others(m) for the sum over the other edges of the replica, sum(m) for that over all.
 */
export function overEdges(lines: readonly Line[], declared: readonly string[], sets: number): Line[] {
  const edge = new Set(declared);
  const all = Array.from({ length: sets }, (_, set) => set + 1);
  const isOfEdge = (formula: Formula): boolean => {
    if ('name' in formula) return edge.has(formula.name);
    if (!('op' in formula) || formula.op === 'sum') return false;
    return ['over', 'others'].includes(formula.op) || formula.of.some(isOfEdge);
  };

  /** The formula for the edge in one set. */
  function at(formula: Formula, set: number): Formula {
    if ('value' in formula) return formula;
    if ('name' in formula) return edge.has(formula.name) ? { name: edgeName(formula.name, set) } : formula;
    const { op, of } = formula;
    const total = (sets: readonly number[]) => added(sets.map((each) => at(of[0]!, each)));
    if (op === 'sum') return total(all);
    if (op === 'others') return total(all.filter((each) => each !== set));
    return { op, of: [...of.map((part) => at(part, set)), ...(op === 'over' ? [{ value: set }] : [])] };
  }

  const expand = (line: Line): Line[] => {
    if ('when' in line)
      return [{ ...line, inside: line.inside.flatMap(expand), otherwise: line.otherwise.flatMap(expand) }];
    const formula = 'send' in line ? line.message : line.to;
    if (!isOfEdge(formula)) return 'send' in line ? [line] : [{ ...line, to: at(formula, 0) }];
    if ('send' in line) throw new UserError(`line ${line.line}: "${line.send} +=" cannot read a row of an edge`);
    edge.add(line.set);
    const name = line.set;
    if (!readsOthers(formula, name))
      return all.map((set) => ({ ...line, set: edgeName(name, set), to: at(formula, set) }));
    // All of them from what was there before any of them changes.
    const next = (set: number) => `${edgeName(name, set)} next`;
    return [
      ...all.map((set) => ({ ...line, set: next(set), to: at(formula, set) })),
      ...all.map((set) => ({ ...line, set: edgeName(name, set), to: { name: next(set) } })),
    ];
  };
  return lines.flatMap(expand);
}

/** Whether an edge's formula reads what other edges have under this name. */
const readsOthers = (formula: Formula, name: string): boolean =>
  'op' in formula &&
  (formula.op === 'others' || formula.op === 'sum'
    ? formula.of.some((part) => namesIn(part).includes(name))
    : formula.of.some((part) => readsOthers(part, name)));

/** What a row or number of the edges in a set is called. */
export const edgeName = (name: string, set: number): string => `${name} ${set}`;

const added = (parts: readonly Formula[]): Formula =>
  parts.length === 0 ? { value: 0 } : parts.reduce((sum, part) => ({ op: '+', of: [sum, part] }));
