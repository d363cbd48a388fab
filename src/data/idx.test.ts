import { expect, it } from 'vitest';
import { parseIdx } from './idx.ts';

const header = (type: number, ...shape: number[]) => {
  const bytes = Buffer.alloc(4 + 4 * shape.length);
  bytes[2] = type;
  bytes[3] = shape.length;
  shape.forEach((side, d) => {
    bytes.writeUInt32BE(side, 4 + 4 * d);
  });
  return bytes;
};

it('reads bytes and big-endian whole numbers', () => {
  const bytes = parseIdx(Buffer.concat([header(8, 2, 3), Buffer.from([1, 2, 3, 4, 5, 255])]), 'a');
  expect(bytes).toMatchObject({ shape: [2, 3] });
  expect([...bytes.values]).toEqual([1, 2, 3, 4, 5, 255]);
  const ints = parseIdx(Buffer.concat([header(12, 2), Buffer.from([0, 0, 1, 0, 255, 255, 255, 255])]), 'a');
  expect([...ints.values]).toEqual([256, -1]);
});

it.each([
  ['nothing', Buffer.alloc(0), /a is not a readable idx file: it has only 0 bytes/],
  ['something else', Buffer.from('hello, world'), /does not begin like one/],
  ['a header that is cut off', header(8, 2, 3).subarray(0, 7), /header is cut off/],
  ['values that are cut off', Buffer.concat([header(8, 2, 3), Buffer.alloc(5)]), /2×3 values need 18 bytes, it has 17/],
  ['more than it says', Buffer.concat([header(8, 2), Buffer.alloc(3)]), /2 values need 10 bytes, it has 11/],
])('refuses %s', (_, content, message) => {
  expect(() => parseIdx(content, 'a')).toThrow(message);
});
