import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { UserError } from '../../base/error.ts';
import { summarize } from '../summary.ts';
import { buildTopology, replicasOf } from '../topology.ts';
import { readTopology } from './file.ts';

const folder = mkdtempSync(join(tmpdir(), 'topology-'));
let written = 0;
function write(text: string): string {
  const path = join(folder, `${written++}.txt`);
  writeFileSync(path, text);
  return path;
}
const load = (text: string, n: number, settings = {}) =>
  buildTopology({ kind: 'file', path: write(text), ...settings }, n, 0);

describe('a topology file', () => {
  it('may be an edge list with comments, blank lines and any separators', () => {
    const text = '# a square with a diagonal\n\n4   # replicas\n0 1\n1,2\r\n2;3 # closing\n\t3\t0\n\n0, 2\n';
    expect(load(text, 4).round(0)).toMatchObject({
      sources: [
        [1, 2, 3],
        [0, 2],
        [0, 1, 3],
        [0, 2],
      ],
    });
  });

  it('gets Metropolis–Hastings weights where it has none', () => {
    const W = load('3\n0 1\n1 2\n', 3).mixing(0);
    expect([...W.weight].map((w) => Math.round(w * 3))).toEqual([2, 1, 1, 1, 1, 1, 2]);
    expect(summarize(load('3\n0 1\n1 2\n', 3))).toMatchObject({ doublyStochastic: true, edges: 2, diameter: 2 });
  });

  it('may give weights', () => {
    const topology = load('3\n0 1 0.25\n1 2 .5\n', 3);
    expect([...topology.mixing(0).weight]).toEqual([0.75, 0.25, 0.25, 0.25, 0.5, 0.5, 0.5]);
    expect([...load('3\n0 1 0.25\n1 2 .5\n', 3, { weights: 'lazy' }).mixing(0).weight][1]).toBeCloseTo(1 / 6, 15);
  });

  it('may be directed: u sends to v', () => {
    const topology = load('3 directed\n0 1\n1 2\n2 0\n0 2\n', 3);
    expect(topology).toMatchObject({ directed: true, period: 1 });
    expect(topology.round(0).sources).toEqual([[2], [0], [0, 1]]);
    expect(topology.mixing(0).weight.subarray(4)).toEqual(Float64Array.of(1 / 3, 1 / 3, 1 / 3));
    expect(summarize(topology)).toMatchObject({ doublyStochastic: false, edges: 4 });
    expect(() => load('3 directed\n0 1\n1 2\n2 0\n', 3, { weights: 'metropolis' })).toThrow(
      'need an undirected topology',
    );
  });

  it('may be directed with two replicas and one line an edge', () => {
    expect(load('2 directed\n0 1\n1 0\n', 2).directed).toBe(true);
  });

  it('may be a mixing matrix', () => {
    const topology = load('0.5 0.5 0\n0.5 0.25 0.25\n0 0.25 0.75\n', 3);
    expect(topology).toMatchObject({ directed: false });
    expect([...topology.mixing(0).weight]).toEqual([0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.75]);
    const oneWay = load('0.5 0.5 0\n0 0.5 0.5\n0.5 0 0.5\n', 3);
    expect(oneWay.directed).toBe(true);
    expect(oneWay.round(0).sources).toEqual([[1], [2], [0]]);
    expect(summarize(oneWay).doublyStochastic).toBe(true);
  });

  it('may be an adjacency matrix of zeros and ones, whose diagonal means nothing', () => {
    const expected = [[1], [0, 2], [1]];
    expect(load('0 1 0\n1 0 1\n0 1 0\n', 3).round(0).sources).toEqual(expected);
    expect(load('1 1 0\n1 1 1\n0 1 1\n', 3).round(0).sources).toEqual(expected);
    expect(load('0 1\n1 0\n', 2).round(0).sources).toEqual([[1], [0]]);
  });

  it('tells n, also of one replica', () => {
    expect(replicasOf({ kind: 'custom', path: write('4\n0 1\n1 2\n2 3\n') }, undefined)).toBe(4);
    expect(summarize(load('1\n', 1))).toMatchObject({ n: 1, spectralGap: 1, edges: 0 });
    expect(() => replicasOf({ kind: 'ring' }, undefined)).toThrow('the number of replicas is missing');
  });

  it('goes by other names', () => {
    const path = write('2\n0 1\n');
    for (const kind of ['file', 'custom', 'edge-list', 'FILE'])
      expect(buildTopology({ kind, path }, 2, 0).kind).toBe('file');
  });

  it('is weighed exactly, up to the rounding of its decimals', () => {
    const seventh = String(1 / 7);
    const text = `8\n${[1, 2, 3, 4, 5, 6, 7].map((i) => `0 ${i} ${seventh}`).join('\n')}`;
    expect(load(text, 8).mixing(0).weight[0]).toBe(0);
    expect(summarize(load(text, 8)).doublyStochastic).toBe(true);
  });
});

const expectedForms = /^expected an edge list .* or an n×n matrix/;
describe('a bad topology file', () => {
  it.each([
    [
      'n = 0',
      '0\n',
      ':1: the first line must be the number of replicas, a whole number from 1 to 20000, got "0"',
      expectedForms,
    ],
    [
      'fractional n',
      '2.5\n0 1',
      ':1: the first line must be the number of replicas, a whole number from 1 to 20000, got "2.5"',
      expectedForms,
    ],
    [
      'n in words',
      '# x\nfour\n0 1\n1 2',
      ':2: the first line must be the number of replicas, a whole number from 1 to 20000, got "four"',
      expectedForms,
    ],
    [
      'absurd n',
      '99999999999\n0 1',
      ':1: the first line must be the number of replicas, a whole number from 1 to 20000, got "99999999999"',
      expectedForms,
    ],
    ['no n', '0 1\n1 2\n2 0\n', ':1: the first line must be "n" or "n directed", got "0 1"', expectedForms],
    [
      'unknown word',
      '3 undirected\n0 1\n',
      ':1: the first line must be "n" or "n directed", got "3 undirected"',
      expectedForms,
    ],
    ['no such replica', '3\n0 1\n1 3\n', ':3: there is no replica "3"; with n = 3 they are 0 to 2', expectedForms],
    ['negative replica', '3\n0 1\n1 -2\n', ':3: there is no replica "-2"; with n = 3 they are 0 to 2', expectedForms],
    ['fractional replica', '3\n0 1.5\n', ':2: there is no replica "1.5"; with n = 3 they are 0 to 2', expectedForms],
    ['replica by name', '3\na b\n', ':2: there is no replica "a"; with n = 3 they are 0 to 2', expectedForms],
    ['replica NaN', '3\n0 NaN\n', ':2: there is no replica "NaN"; with n = 3 they are 0 to 2', expectedForms],
    ['half an edge', '3\n0\n', ':2: expected "u v" or "u v weight", got "0"', expectedForms],
    ['too much of an edge', '3\n0 1 0.5 x\n', ':2: expected "u v" or "u v weight", got "0 1 0.5 x"', expectedForms],
    [
      'self-loop',
      '3\n0 1\n1 1\n',
      ':3: replica 1 is joined to itself; leave it out, a replica keeps what the others leave',
      expectedForms,
    ],
    ['duplicate edge', '3\n0 1\n1 2\n0 1\n', ':4: the edge 0 1 is given twice; leave one out', expectedForms],
    [
      'duplicate edge, turned round',
      '3\n0 1\n1 2\n1 0\n',
      ':4: the edge 1 0 is given twice; leave one out',
      expectedForms,
    ],
    [
      'duplicate one-way edge',
      '2 directed\n0 1\n1 0\n0 1\n',
      ':4: the edge 0 1 is given twice; leave one out',
      expectedForms,
    ],
    [
      'negative weight',
      '2\n0 1 -0.5\n',
      ':2: a weight must be a number above 0 and at most 1, got "-0.5"',
      expectedForms,
    ],
    ['weight 0', '2\n0 1 0\n', ':2: a weight must be a number above 0 and at most 1, got "0"', expectedForms],
    ['weight above 1', '2\n0 1 1.5\n', ':2: a weight must be a number above 0 and at most 1, got "1.5"', expectedForms],
    ['weight NaN', '2\n0 1 NaN\n', ':2: a weight must be a number above 0 and at most 1, got "NaN"', expectedForms],
    [
      'weight in words',
      '2\n0 1 half\n',
      ':2: a weight must be a number above 0 and at most 1, got "half"',
      expectedForms,
    ],
    [
      'weights sum above 1',
      '3\n0 1 0.6\n1 2 0.6\n',
      ': the weights into replica 1 sum to 1.2, more than 1',
      /^make them smaller/,
    ],
    [
      'some weights',
      '3\n0 1 0.5\n1 2\n',
      ':3: this edge has no weight, the one on line 2 has; give all edges a weight or none',
      expectedForms,
    ],
    [
      'two parts',
      '4\n0 1\n2 3\n',
      ': the topology is not connected, so the replicas can never agree',
      /^there is no way from replica 0 to replica 2; add edges/,
    ],
    [
      'no edges',
      '3\n',
      ': the topology is not connected, so the replicas can never agree',
      /^there is no way from replica 0 to replica 1/,
    ],
    [
      'one-way street',
      '3 directed\n0 1\n0 2\n1 2\n',
      ': not every replica can reach every other, so the replicas can never agree',
      /^there is no way from replica 1 to replica 0/,
    ],
    ['empty', '', ': the file is empty', expectedForms],
    ['only comments', '# nothing\n\n', ': the file is empty', expectedForms],
    [
      'missing row',
      '0 1 1\n1 0 1\n',
      ':1: a matrix needs as many rows as columns; it has 3 columns and 2 rows',
      expectedForms,
    ],
    [
      'short row',
      '0 1 1\n1 0\n1 1 0\n',
      ':2: the matrix has 3 rows, so this one needs 3 numbers; it has 2',
      expectedForms,
    ],
    [
      'negative entry',
      '1.5 -0.5\n-0.5 1.5\n',
      ':1: an entry of the matrix must be a number from 0, got "-0.5"',
      expectedForms,
    ],
    ['entry NaN', '0.5 0.5\nNaN 0.5\n', ':2: an entry of the matrix must be a number from 0, got "NaN"', expectedForms],
    [
      'first entry NaN',
      '0.5 NaN\nNaN 0.5\n',
      ':1: an entry of the matrix must be a number from 0, got "NaN"',
      expectedForms,
    ],
    ['row above 1', '0.5 0.7\n0.5 0.5\n', ':1: row 0 of the mixing matrix sums to 1.2, not 1', expectedForms],
    [
      'matrix of two parts',
      '1 0\n0 1\n',
      ': the topology is not connected, so the replicas can never agree',
      /^there is no way from replica 0 to replica 1/,
    ],
  ])('%s', (_, text, message, hint) => {
    const path = write(text);
    let thrown: unknown;
    try {
      readTopology(path);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(UserError);
    expect((thrown as UserError).message).toBe(path + message);
    expect((thrown as UserError).hint).toMatch(hint);
  });

  it('that does not exist, or is a folder, is named', () => {
    expect(() => readTopology('/no/such/file')).toThrow(
      /^cannot read the topology file \/no\/such\/file: no such file or folder/,
    );
    expect(() => readTopology(folder)).toThrow(/^cannot read the topology file .*: it is a folder/);
  });

  it('of another n says which', () => {
    const path = write('4\n0 1\n1 2\n2 3\n');
    expect(() => buildTopology({ kind: 'file', path }, 8, 0)).toThrow(
      `${path} describes 4 replicas, but n = 8 was asked for`,
    );
    expect(() => buildTopology({ kind: 'file', path }, 1, 0)).toThrow(
      `${path} describes 4 replicas, but n = 1 was asked for`,
    );
  });
});
