import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { UserError } from '../base/error.ts';
import { Random } from '../base/random.ts';
import { libsvmOf, parseLibsvm } from '../data/sets/libsvm.ts';
import { override, plan } from './experiment.ts';
import { locate } from './files.ts';
import { extended, findExperiment, parseText } from './source.ts';

/** What damaged input may end in: success or a user's mistake, soon. Anything else is told with the input. */
function attempt(input: string, work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if (error instanceof UserError) return false;
    throw new Error(`${(error as Error).stack}\nin:\n${input}`);
  }
}

const pick = <T>(random: Random, list: readonly T[]): T => list[random.below(list.length)]!;

/** A letter changed, letters left out, or a piece of the text in another place. */
function damaged(text: string, random: Random, letters: string): string {
  const [at, length] = [random.below(text.length), 1 + random.below(12)];
  const change = random.below(3);
  if (change === 0) return text.slice(0, at) + pick(random, [...letters]) + text.slice(at + 1);
  if (change === 1) return text.slice(0, at) + text.slice(at + length);
  return text.slice(0, at) + text.slice(random.below(text.length)).slice(0, length) + text.slice(at);
}

/** Values that have been mistaken for something else. */
const odd = [
  '{ toString: 1, valueOf: 2 }',
  '{ __proto__: 1 }',
  '{ kind: { toString: 1 } }',
  '{ kind: file, path: / }',
  '{ kind: file, path: "" }',
  '{ kind: ada, k0: 9007199254740991, decay: 1e-300 }',
  ...[
    '[]',
    '{}',
    'null',
    '-1',
    '0',
    '2',
    '1e999',
    '.nan',
    '1e15',
    '20000',
    '0.5',
    '"x"',
    '[[1]]',
    'true',
    '*b',
    '&b 1',
  ],
];
const paths = [
  'topology',
  'data',
  'model',
  'seed',
  'replicas',
  'epochs',
  'name',
  'compare',
  'sweep',
  'compare[0].name',
];

it('experiments that are damaged are refused or accepted, nothing else', () => {
  const random = new Random(1, 'test');
  const files = ['quickstart', 'consensus-phases', 'resnet20-cifar10-16'].map((name) => findExperiment(name));
  const texts = files.map((file) => readFileSync(file, 'utf8'));
  let accepted = 0;
  for (let trial = 0; trial < 300; trial++) {
    let text = pick(random, texts).replaceAll(/replicas: \d+/g, 'replicas: 12');
    const values = [...text.matchAll(/: ([^\n,{}[\]]+)/g)];
    const { index, 0: old } = pick(random, values);
    if (random.below(2) === 0) text = `${text.slice(0, index)}: ${pick(random, odd)}${text.slice(index + old.length)}`;
    if (random.below(2) === 0) text = damaged(text, random, ' :-{}[]&*#\n"a1.');
    const sets = random.below(4) === 0 ? [`${pick(random, paths)}=${pick(random, odd)}`] : [];
    const done = attempt([text, ...sets].join('\n'), () =>
      plan(sets.reduce(override, extended(locate(parseText(text, 'f'), '/'), 'f', '/')), 'f', { hashData: false }),
    );
    if (done) accepted += 1;
  }
  // Otherwise nothing beyond the first check would have been tried.
  expect(accepted).toBeGreaterThan(20);
}, 60_000);

it('LIBSVM files that are damaged are refused, or hold numbers', () => {
  const random = new Random(2, 'test');
  const sample = '+1 1:0.5 3:-2e-1 # a\n-1 2:1\n1 4:3\n-1 1:1 2:2\n1 3:.5\n-1 5:7\n';
  let accepted = 0;
  for (let trial = 0; trial < 3000; trial++) {
    let text = sample;
    for (let count = 1 + random.below(3); count > 0; count--) text = damaged(text, random, ' :.-+e0123456789#\nx');
    const done = attempt(text, () => {
      const { train, test } = libsvmOf(parseLibsvm(text, 'a'), undefined, 1, 'a');
      for (const { features } of [train, test]) expect((features as Float32Array).every(Number.isFinite)).toBe(true);
      const entries = text.split('\n').flatMap((line) => line.replace(/#.*/, '').trim().split(/\s+/).slice(1));
      for (const entry of entries) expect(entry).toMatch(/^\d+:[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/);
    });
    if (done) accepted += 1;
  }
  expect(accepted).toBeGreaterThan(300);
});
