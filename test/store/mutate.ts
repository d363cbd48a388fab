import type { Random } from '../../src/base/random.ts';

/** What may stand where something else was expected. */
const strange: readonly unknown[] = [
  ...[null, true, false, -1, 0, 1, 0.5, 7, 1e300, -1e300, 2 ** 53, 2 ** 31, '', "'a", '"', '\\', '\u0000', 'a\u0000b'],
  ...[
    '0',
    '-1',
    '2026-02-31T25:61:61Z',
    '9'.repeat(400),
    '\ud800',
    '__proto__',
    [],
    {},
    [[3]],
    [null],
    { kind: 'ring' },
  ],
];

const pick = <T>(random: Random, items: readonly T[]): T => items[random.below(items.length)]!;

type Group = { [key: string]: unknown };

/** JSON data with one value replaced, removed, doubled or put under a key that nobody knows. */
export function mutateValue(data: unknown, random: Random): unknown {
  if (typeof data !== 'object' || data === null || random.below(6) === 0) return structuredClone(pick(random, strange));
  const copy = structuredClone(data) as Group;
  const keys = Object.keys(copy);
  const key = keys.length === 0 ? 'new' : pick(random, keys);
  const how = random.below(10);
  if (how === 0) Array.isArray(copy) ? copy.splice(Number(key) || 0, 1) : delete copy[key];
  else if (how === 1) Array.isArray(copy) ? copy.push(pick(random, strange)) : (copy.unknown = pick(random, strange));
  else copy[key] = mutateValue(copy[key], random);
  return copy;
}

/** Bytes with some of them changed, or cut off somewhere. */
export function mutateBytes(bytes: Uint8Array, random: Random): Uint8Array {
  const copy = Uint8Array.from(bytes);
  if (random.below(5) === 0) return copy.subarray(0, random.below(copy.length + 1));
  for (let count = 1 + random.below(3); count > 0; count--) copy[random.below(copy.length)] = random.below(256);
  return copy;
}
