import { expect, it } from 'vitest';
import { columnsThatFit, fields, shortened, table, wrap } from './print.ts';

const headers = ['name', 'test %', 'loss', 'about'];
const rows = [
  ['D_ring', '92.04', '0.334', 'one neighbour to the left and one to the right'],
  ['Ada', '95.32', '0.157', 'fewer with time'],
];
const widest = (text: string) => Math.max(...text.split('\n').map((line) => line.length));

it('a table that has room shows all, flush left for text and right for numbers', () => {
  expect(table(headers, rows, ['about'], { width: 80 })).toBe(
    [
      'name    test %   loss  about',
      '──────  ──────  ─────  ──────────────────────────────────────────────',
      'D_ring   92.04  0.334  one neighbour to the left and one to the right',
      'Ada      95.32  0.157  fewer with time',
    ].join('\n'),
  );
});

it('a table that is too wide loses columns in the order given, and no more than it must', () => {
  expect(columnsThatFit(headers, rows, { drop: ['loss', 'about'], width: 62 })).toEqual(['name', 'test %', 'about']);
  expect(columnsThatFit(headers, rows, { drop: ['loss', 'about'], width: 61 })).toEqual(['name', 'test %']);
});

it('text that is still too wide is broken into lines of its column', () => {
  const text = table(headers, rows, ['about'], { width: 40, drop: ['loss'] });
  expect(widest(text)).toBeLessThanOrEqual(40);
  expect(text.replaceAll(/\s+/g, ' ')).toContain('one neighbour to the left');
  expect(text).not.toContain('loss');
});

it('a long value of a field is continued below itself', () => {
  expect(
    fields(
      [
        ['sha', 'abcdefgh'],
        ['a', 'one two'],
      ],
      12,
    ),
  ).toBe('  sha  abcde\n       fgh\n  a    one\n       two');
});

it('lines keep to their width with their indent, whatever the words', () => {
  expect(wrap('one two three', 9, '  ')).toBe('one two\n  three');
  expect(wrap('sha abcdefghij', 6, '  ')).toBe('sha\n  abcd\n  efgh\n  ij');
  expect(wrap('a b', Number.POSITIVE_INFINITY)).toBe('a b');
});

it('a name is shortened in its middle', () => {
  expect(shortened('D_ring seed=1', 13)).toBe('D_ring seed=1');
  expect(shortened('D_ring seed=1', 9)).toBe('D_ri…ed=1');
});
