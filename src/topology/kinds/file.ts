import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { UserError } from '../../base/error.ts';
import { constant, isConnected, kind, type Round } from '../kind.ts';

/** A topology read from a file: neighbours of each replica, with weights where the file has them. */
export interface FileTopology extends Round {
  readonly n: number;
  readonly directed: boolean;
}

const formats =
  'an edge list (first line "n" or "n directed", then "u v" or "u v weight") or an n×n matrix, replicas counted from 0';

/** One reader for both forms: entries (i hears j with weight w, or unweighted) collected and checked alike. */
class Collector {
  readonly n: number;
  readonly #path: string;
  readonly #rows: Map<number, number | undefined>[];

  constructor(path: string, n: number) {
    this.#path = path;
    if (!Number.isInteger(n) || n < 1) this.fail(1, `the number of replicas must be a whole number from 1, got "${n}"`);
    this.n = n;
    this.#rows = Array.from({ length: n }, () => new Map());
  }

  fail(line: number, why: string): never {
    throw new UserError(`${this.#path}:${line}: ${why}`, { hint: `expected ${formats}` });
  }

  add(line: number, from: number, to: number, weight: number | undefined): void {
    for (const end of [from, to])
      if (!Number.isInteger(end) || end < 0 || end >= this.n)
        this.fail(line, `replica "${end}" does not exist; with n = ${this.n} they are 0 to ${this.n - 1}`);
    if (from === to) this.fail(line, `replica ${from} is joined to itself; own weights follow from the others`);
    if (weight !== undefined && !(weight > 0 && weight <= 1))
      this.fail(line, `weight "${weight}" must be above 0 and at most 1`);
    if (this.#rows[to]!.has(from)) this.fail(line, `edge ${from} ${to} is given twice`);
    this.#rows[to]!.set(from, weight);
  }

  finish(directed: boolean): FileTopology {
    const rows = this.#rows.map((row) => [...row].sort((a, b) => a[0] - b[0]));
    const sources = rows.map((row) => row.map(([j]) => j));
    const given = rows.flat().filter(([, weight]) => weight !== undefined).length;
    if (given > 0 && given < rows.flat().length) this.fail(1, 'some edges have a weight and some have none');
    if (!isConnected(sources)) {
      const why = directed ? 'not every replica can reach every other' : 'the topology is not connected';
      throw new UserError(`${this.#path}: ${why}, so the replicas can never agree`, {
        hint: 'add edges that join the parts',
      });
    }
    const round = given === 0 ? { sources } : { sources, weights: rows.map((row) => row.map(([, weight]) => weight!)) };
    round.weights?.forEach((row, i) => {
      const sum = row.reduce((a, b) => a + b, 0);
      if (sum > 1 + 1e-9)
        throw new UserError(`${this.#path}: the weights into replica ${i} sum to ${sum}, more than 1`, {
          hint: 'a replica keeps 1 minus the sum of what it takes in',
        });
    });
    return { n: this.n, directed, ...round };
  }
}

function readEdges(path: string, lines: readonly { fields: string[]; line: number }[]): FileTopology {
  const [header, ...rest] = lines;
  const collector = new Collector(path, Number(header!.fields[0]));
  const directed = header!.fields[1] === 'directed';
  if (header!.fields.length > (directed ? 2 : 1))
    collector.fail(header!.line, `unexpected "${header!.fields[1]}" after n`);
  for (const { fields, line } of rest) {
    if (fields.length < 2 || fields.length > 3)
      collector.fail(line, `expected "u v" or "u v weight", got "${fields.join(' ')}"`);
    const [u, v, weight] = fields.map(Number) as [number, number, number?];
    collector.add(line, u, v, weight);
    if (!directed) collector.add(line, v, u, weight);
  }
  return collector.finish(directed);
}

/** Row i holds the weights with which i averages the others; zeros and ones only mean edges without weights. */
function readMatrix(path: string, rows: readonly { fields: string[]; line: number }[]): FileTopology {
  const n = rows.length;
  const collector = new Collector(path, n);
  const matrix = rows.map(({ fields, line }) => {
    if (fields.length !== n)
      collector.fail(line, `the matrix has ${n} rows, so this one needs ${n} numbers; it has ${fields.length}`);
    return fields.map((field) => {
      const value = Number(field);
      if (!(value >= 0)) collector.fail(line, `"${field}" is not a number from 0`);
      return value;
    });
  });
  const plain = n > 1 && matrix.every((row) => row.every((value) => value === 0 || value === 1));
  const symmetric = matrix.every((row, i) => row.every((value, j) => Math.abs(value - matrix[j]![i]!) < 1e-12));
  matrix.forEach((row, i) => {
    const sum = row.reduce((a, b) => a + b, 0);
    if (!plain && Math.abs(sum - 1) > 1e-6)
      collector.fail(rows[i]!.line, `row ${i} of the mixing matrix sums to ${sum}, not 1`);
    row.forEach((value, j) => {
      if (i !== j && value > 0) collector.add(rows[i]!.line, j, i, plain ? undefined : value);
    });
  });
  return collector.finish(!symmetric);
}

/** Reads and checks a topology file. */
export function readTopology(path: string): FileTopology {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new UserError(`cannot read the topology file ${path}: ${(cause as Error).message}`, { cause });
  }
  const lines = text
    .split('\n')
    .map((raw, index) => ({
      fields: raw
        .replace(/#.*/, '')
        .split(/[\s,;]+/)
        .filter(Boolean),
      line: index + 1,
    }))
    .filter(({ fields }) => fields.length > 0);
  if (lines.length === 0) throw new UserError(`${path}: the file is empty`, { hint: `expected ${formats}` });
  const square = lines.length > 1 && lines[0]!.fields.length === lines.length && lines[0]!.fields[1] !== 'directed';
  return square ? readMatrix(path, lines) : readEdges(path, lines);
}

export const file = kind({
  name: 'file',
  aliases: ['custom', 'edge-list'],
  summary: 'an edge list or weighted matrix of yours',
  settings: { path: z.string().min(1).describe(formats) },
  directed: ({ path }) => readTopology(path).directed,
  weights: 'metropolis',
  build(n, { path }) {
    const topology = readTopology(path);
    if (topology.n !== n)
      throw new UserError(`${path} describes ${topology.n} replicas, but n = ${n} was asked for`, {
        hint: `use n = ${topology.n} or another file`,
      });
    return constant(topology);
  },
});
