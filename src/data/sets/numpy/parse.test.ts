import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseNpy, parseNpz } from './parse.ts';

/** Written by NumPy itself: scripts/golden-numpy.py. */
const golden: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(new URL('../../../../test/golden/numpy.json', import.meta.url), 'utf8'),
);
const bytes = (name: string) => Buffer.from(golden[name]!, 'base64');
const read = (name: string) => {
  const { shape, values } = parseNpy(bytes(name), 'a.npy');
  return { shape, values: [...values] };
};

describe('.npy', () => {
  it.each([
    ['f4', [2, 3], [0, 0.25, 0.5, 0.75, 1, 1.25]],
    ['big-endian', [2, 3], [0, 0.25, 0.5, 0.75, 1, 1.25]],
    ['fortran', [2, 3], [-3, -2, -1, 0, 1, 2]],
    ['bool', [2], [1, 0]],
    ['i8', [2], [-7, 2 ** 40]],
    ['u1', [2, 3], [0, 1, 2, 3, 4, 5]],
    ['scalar', [], [3]],
    ['empty', [0, 3], []],
  ])('%s', (name, shape, values) => {
    expect(read(name)).toEqual({ shape, values });
  });

  it('half precision', () => {
    // 0.0001 is 1.0001659 in half precision, times 10⁻⁴: a number below the normal ones.
    expect(read('half').values).toEqual([1.5, -2, 0.00010001659393310547, Number.POSITIVE_INFINITY]);
  });

  it.each([
    ['text', /elements are of type <U2/],
    ['object', /elements are of type \|O/],
  ])('refuses %s', (name, message) => {
    expect(() => read(name)).toThrow(message);
  });

  it('refuses what is cut off, and what is no array', () => {
    expect(() => parseNpy(bytes('f4').subarray(0, -1), 'a.npy')).toThrow(
      'a.npy cannot be read: it holds 23 bytes of numbers, its shape (2, 3) needs 24',
    );
    expect(() => parseNpy(Buffer.from('x,y\n1,2\n'), 'a.npy')).toThrow('it is no NumPy array');
  });
});

describe('.npz', () => {
  it.each(['npz', 'npz, compressed'])('%s', (name) => {
    const arrays = parseNpz(bytes(name), 'a.npz');
    expect([...arrays.keys()]).toEqual(['x', 'y']);
    expect([...arrays.get('x')!().values]).toEqual([0, 1, 2, 3, 4, 5]);
    expect([...arrays.get('y')!().values]).toEqual([0, 1]);
  });

  it('refuses an archive whose content changed', () => {
    const changed = bytes('npz');
    changed[changed.indexOf('NUMPY') + 130]! ^= 1;
    expect(() => parseNpz(changed, 'a.npz').get('x')!()).toThrow('a.npz cannot be read: it is damaged or cut off');
    expect(() => parseNpz(bytes('f4'), 'a.npz')).toThrow('it is no .npz archive');
  });
});
