import { z } from 'zod';
import { requireSha256, sha256Of, sha256Setting } from '../../base/content.ts';
import { UserError } from '../../base/error.ts';
import { readBytes } from '../../base/file.ts';
import { constant, distances, isConnected, kind, mostReplicas, type Round, targetsOf } from '../kind.ts';

/** A topology read from a file: neighbours of each replica, with weights if the file has them. */
export interface FileTopology extends Round {
  readonly n: number;
  readonly directed: boolean;
}

const formats =
  'an edge list (first line "n" or "n directed", then "u v" or "u v weight") or an n×n matrix, replicas counted from 0';

interface Line {
  readonly fields: readonly string[];
  readonly line: number;
}

/** One reader for both forms: entries (i hears j with weight w, or unweighted) collected and checked alike. */
class Collector {
  readonly n: number;
  readonly #path: string;
  readonly #rows: Map<number, number | undefined>[];
  /** Where the first edge with and the first without a weight stand. */
  readonly #first: { weighted?: number; plain?: number } = {};

  constructor(path: string, n: number) {
    this.n = n;
    this.#path = path;
    this.#rows = Array.from({ length: n }, () => new Map());
  }

  fail(line: number, why: string): never {
    fail(this.#path, line, why);
  }

  replica(line: number, field: string): number {
    const value = wholeNumber(field);
    if (value === undefined || value >= this.n)
      this.fail(line, `there is no replica "${field}"; with n = ${this.n} they are 0 to ${this.n - 1}`);
    return value;
  }

  weight(line: number, field: string): number {
    const value = Number(field);
    if (!(value > 0 && value <= 1)) this.fail(line, `a weight must be a number above 0 and at most 1, got "${field}"`);
    return value;
  }

  add(line: number, from: number, to: number, weight: number | undefined): void {
    if (from === to)
      this.fail(line, `replica ${from} is joined to itself; leave it out, a replica keeps what the others leave`);
    if (this.#rows[to]!.has(from)) this.fail(line, `the edge ${from} ${to} is given twice; leave one out`);
    this.#first[weight === undefined ? 'plain' : 'weighted'] ??= line;
    this.#rows[to]!.set(from, weight);
  }

  finish(directed: boolean): FileTopology {
    const { weighted, plain } = this.#first;
    if (weighted !== undefined && plain !== undefined)
      this.fail(plain, `this edge has no weight, the one on line ${weighted} has; give all edges a weight or none`);
    const rows = this.#rows.map((row) => [...row].sort((a, b) => a[0] - b[0]));
    const sources = rows.map((row) => row.map(([j]) => j));
    if (!isConnected(sources)) {
      const why = directed ? 'not every replica can reach every other' : 'the topology is not connected';
      throw new UserError(`${this.#path}: ${why}, so the replicas can never agree`, { hint: this.#cut(sources) });
    }
    if (weighted === undefined) return { n: this.n, directed, sources };
    const weights = rows.map((row) => row.map(([, weight]) => weight!));
    weights.forEach((row, i) => {
      const sum = row.reduce((a, b) => a + b, 0);
      if (sum > 1 + 1e-12)
        throw new UserError(`${this.#path}: the weights into replica ${i} sum to ${sum}, more than 1`, {
          hint: 'make them smaller; a replica keeps 1 minus their sum',
        });
    });
    return { n: this.n, directed, sources, weights };
  }

  /** Names a pair of replicas without a way. */
  #cut(sources: readonly (readonly number[])[]): string {
    const unreached = distances(targetsOf(sources), 0).indexOf(-1);
    const [from, to] = unreached >= 0 ? [0, unreached] : [distances(sources, 0).indexOf(-1), 0];
    return `there is no way from replica ${from} to replica ${to}; add edges that join them`;
  }
}

function fail(path: string, line: number, why: string): never {
  throw new UserError(`${path}:${line}: ${why}`, { hint: `expected ${formats}` });
}

const wholeNumber = (field: string) => (/^\d+$/.test(field) ? Number(field) : undefined);

function readEdges(path: string, [header, ...rest]: readonly [Line, ...Line[]]): FileTopology {
  const { fields, line } = header;
  const directed = fields[1] === 'directed';
  if (fields.length > (directed ? 2 : 1)) {
    const matrix = fields.length > 2 && fields.every((field) => !Number.isNaN(Number(field)));
    if (matrix)
      fail(
        path,
        line,
        `a matrix needs as many rows as columns; it has ${fields.length} columns and ${rest.length + 1} rows`,
      );
    fail(path, line, `the first line must be "n" or "n directed", got "${fields.join(' ')}"`);
  }
  const n = wholeNumber(fields[0]!);
  if (n === undefined || n < 1 || n > mostReplicas)
    fail(
      path,
      line,
      `the first line must be the number of replicas, a whole number from 1 to ${mostReplicas}, got "${fields[0]}"`,
    );
  const collector = new Collector(path, n);
  for (const { fields, line } of rest) {
    if (fields.length < 2 || fields.length > 3)
      collector.fail(line, `expected "u v" or "u v weight", got "${fields.join(' ')}"`);
    const u = collector.replica(line, fields[0]!);
    const v = collector.replica(line, fields[1]!);
    const weight = fields[2] === undefined ? undefined : collector.weight(line, fields[2]);
    collector.add(line, u, v, weight);
    if (!directed) collector.add(line, v, u, weight);
  }
  return collector.finish(directed);
}

/** Row i holds the weights with which i averages the others; zeros and ones only mean edges without weights. */
function readMatrix(path: string, rows: readonly Line[]): FileTopology {
  const n = rows.length;
  const collector = new Collector(path, n);
  const matrix = rows.map(({ fields, line }) => {
    if (fields.length !== n)
      collector.fail(line, `the matrix has ${n} rows, so this one needs ${n} numbers; it has ${fields.length}`);
    return fields.map((field) => {
      const value = Number(field);
      if (!(value >= 0)) collector.fail(line, `an entry of the matrix must be a number from 0, got "${field}"`);
      return value;
    });
  });
  const plain = matrix.every((row) => row.every((value) => value === 0 || value === 1));
  const symmetric = matrix.every((row, i) => row.every((value, j) => Math.abs(value - matrix[j]![i]!) < 1e-12));
  matrix.forEach((row, i) => {
    const { line } = rows[i]!;
    const sum = row.reduce((a, b) => a + b, 0);
    if (!plain && Math.abs(sum - 1) > 1e-6) collector.fail(line, `row ${i} of the mixing matrix sums to ${sum}, not 1`);
    row.forEach((value, j) => {
      if (i !== j && value > 0) collector.add(line, j, i, plain ? undefined : value);
    });
  });
  return collector.finish(!symmetric);
}

/** Reads and checks a topology file, whose content must have this SHA-256 if one is given. */
export function readTopology(path: string, sha256?: string): FileTopology {
  const content = readBytes(path, 'topology file');
  requireSha256(path, sha256Of(content), sha256);
  const lines = content
    .toString()
    .split('\n')
    .map((raw, index): Line => {
      const fields = raw.replace(/#.*/, '').split(/[\s,;]+/);
      return { fields: fields.filter(Boolean), line: index + 1 };
    })
    .filter(({ fields }) => fields.length > 0);
  const [first] = lines;
  if (first === undefined) throw new UserError(`${path}: the file is empty`, { hint: `expected ${formats}` });
  // "8 directed" and one edge are two lines of two as well.
  const word = /^[a-z]{4,}$/i.test(first.fields[1] ?? '');
  const square = lines.length > 1 && first.fields.length === lines.length && !word;
  return square ? readMatrix(path, lines) : readEdges(path, lines as [Line, ...Line[]]);
}

export const file = kind({
  name: 'file',
  aliases: ['custom', 'edge-list'],
  summary: 'an edge list or weighted matrix of yours',
  settings: {
    path: z.string().min(1).describe(`a file, counted from the folder of the experiment: ${formats}`),
    sha256: sha256Setting,
  },
  directed: ({ path, sha256 }) => readTopology(path, sha256).directed,
  weights: 'metropolis',
  build(n, { path, sha256 }) {
    const topology = readTopology(path, sha256);
    if (topology.n !== n)
      throw new UserError(`${path} describes ${topology.n} replicas, but n = ${n} was asked for`, {
        hint: `use n = ${topology.n} or another file`,
      });
    return constant(topology);
  },
});
