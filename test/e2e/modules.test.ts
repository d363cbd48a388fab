import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { run } from '../command.ts';

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-modules-'));
  mkdirSync(join(folder, 'study'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Every command is given from a folder that is not the experiment's. */
const dbench = (...args: string[]) => run([process.execPath, main, ...args], folder);
const write = (name: string, text: string) => writeFileSync(join(folder, 'study', name), text);

function experiment(more: object): void {
  const small = {
    name: 'a',
    replicas: 4,
    data: { kind: 'synthetic', classes: 3, shape: [6], train: 96, test: 30 },
    model: { kind: 'mlp', hidden: [4] },
    batch: 4,
    epochs: 2,
    learningRate: { base: 0.01 },
  };
  write('a.json', JSON.stringify({ ...small, ...more }));
}

const typed = `
import { method, z } from 'dbench';
const beta: number = 0.9;
export default method({
  name: 'mine', title: 'Mine', summary: 'momentum, then averaging', paper: 'none',
  settings: { beta: z.number().min(0).lt(1).default(beta).describe('momentum') },
  rows: { m: 'zero' }, needs: ['doubly'],
  step: () => \`
    m = beta*m + grad(x)
    x = W(x - eta*m)\`,
});`;
const plain = `export default { name: 'mine', settings: { beta: 0.9 }, rows: { m: 'zero' }, needs: ['doubly'],
  step: 'm = beta*m + grad(x); x = W(x - eta*m)' };`;
const mine = { algorithm: { kind: 'module', path: 'mine.ts', beta: 0.5 } };

describe('a method of one’s own', () => {
  it('in TypeScript and as plain data gives the bits of the built-in one, and a changed module is another run', async () => {
    write('mine.ts', typed);
    write('plain.mjs', plain);
    experiment({
      compare: [
        { name: 'built', optimizer: { kind: 'sgd', momentum: 0.5 } },
        { name: 'typed', ...mine },
        { name: 'plain', algorithm: { kind: 'module', path: 'plain.mjs', beta: 0.5 } },
      ],
    });
    const runs = JSON.parse((await dbench('run', 'study/a.json', '--json')).stdout) as { paramsSha256: string }[];
    expect(new Set(runs.map(({ paramsSha256 }) => paramsSha256)).size).toBe(1);
    // What is as before is known; a changed text is not, although it says the same.
    write('mine.ts', `${typed}\n// changed`);
    expect((await dbench('run', 'study/a.json', '--continue')).stderr).toContain(
      '2 done before, 0 to resume, 1 to start',
    );
  });

  it('is resumed and reported from what the run keeps, when the module is gone', async () => {
    write('mine.ts', typed);
    experiment({ ...mine, epochs: 40 });
    const begun = await run([process.execPath, main, 'run', 'study/a.json'], folder, {
      meanwhile: (child) => existsSync(join(folder, 'runs')) && child.kill('SIGINT'),
    });
    expect(begun.stderr).toContain('resume with');
    rmSync(join(folder, 'study'), { recursive: true });
    const id = /--resume (\S+)/.exec(begun.stderr)![1]!;
    expect((await dbench('run', '--resume', id)).stderr).toContain('complete');
    expect((await dbench('report')).status).toBe(0);
    const { algorithm } = JSON.parse(readFileSync(join(folder, 'runs', id, 'experiment.json'), 'utf8'));
    expect(readFileSync(join(folder, 'runs', id, 'files', algorithm.sha256), 'utf8')).toBe(typed);
  });
});

it('a topology of one’s own is asked for its rounds, with its settings', async () => {
  write(
    'hops.mts',
    `import { topology, z } from 'dbench';
     export default topology({ name: 'hops', settings: { hop: z.int().min(1).default(2) }, period: 2,
       round: (n: number, step: number, { hop }) => Array.from({ length: n }, (_, i) => [(i + (step === 0 ? 1 : hop)) % n]) });`,
  );
  const { stdout } = await dbench(
    'topology',
    'module',
    '--path',
    'study/hops.mts',
    '-n',
    '8',
    '--set',
    'hop=3',
    '--json',
  );
  expect(JSON.parse(stdout)).toMatchObject({
    directed: true,
    periodSteps: 2,
    degree: { min: 1, max: 1 },
    doublyStochastic: true,
  });
  experiment({ topology: { kind: 'module', path: 'hops.mts', hop: 2 } });
  expect((await dbench('run', 'study/a.json')).stderr).toContain('complete');
});

/** What is wrong with a module, and what is said about it. */
const wrong: readonly (readonly [what: string, text: string, says: RegExp])[] = [
  ['throws', `throw new Error('no luck')`, /fails when it is loaded: no luck \(line 1\)/],
  [
    'throws in its step',
    `export default { name: 'a', step() { throw new Error('no luck'); } }`,
    /its step fails: no luck/,
  ],
  ['returns nonsense', `export default { name: 'a', step: () => 5 }`, /step: must be text, got 5/],
  [
    'has nonsense for a row',
    `export default { name: 'a', rows: { h: 7 }, step: 'x = W(x)' }`,
    /rows.h: must be one of: zero, x, got 7/,
  ],
  [
    'names a row twice',
    `export default { name: 'a', rows: { h: 'zero' }, numbers: { h: 1 }, step: 'x = W(x)' }`,
    /the name "h" is used twice/,
  ],
  [
    'names a row like x',
    `export default { name: 'a', rows: { x: 'zero' }, step: 'x = W(x)' }`,
    /the name "x" is reserved/,
  ],
  [
    'has a reserved setting',
    `export default { name: 'a', settings: { eta: 1 }, step: 'x = W(x)' }`,
    /the name "eta" is reserved/,
  ],
  ['is no TypeScript', `export default { name: `, /its TypeScript cannot be read: ./],
  [
    'has a formula that is none',
    `export default { name: 'a', step: 'x = W(x' }`,
    /the module .*8.ts: method a: line 1: expected "\)"/,
  ],
  ['has no export', `const a = 1;`, /it must export a method/],
  [
    'imports a file beside it',
    `import a from './a.ts'; export default a;`,
    /it imports ".\/a.ts"; a module may import/,
  ],
  [
    'needs what is not there',
    `export default { name: 'a', needs: ['luck'], step: 'x = W(x)' }`,
    /needs\[0\]: must be one of: doubly/,
  ],
];

/** What is wrong in an experiment that names a module or a method. */
const mistaken: readonly (readonly [algorithm: object, says: RegExp])[] = [
  [{ kind: 'module', path: '.' }, /the module .*study: it is a folder/],
  [{ kind: 'module' }, /algorithm.path: is missing/],
  [{ kind: 'module', path: 'missing.ts' }, /cannot read the module .*: no such file or folder/],
  [{ kind: 'module', path: 'plain.mjs', betta: 1 }, /unknown setting "betta"; did you mean "beta"\?/],
  [{ kind: 'module', path: 'plain.mjs', beta: 'much' }, /beta: must be a number, got "much"/],
  [{ kind: 'module', path: 'plain.mjs', compressor: { kind: 'sign' } }, /sends no compressed message; leave it out/],
  [{ kind: 'module', path: 'a.json' }, /must be TypeScript or JavaScript/],
  [{ kind: 'dpsdg' }, /"dpsdg" is not a known kind; did you mean "dpsgd"\?/],
  [{ kind: 'dsgt', compressor: { kind: 'sign' } }, /unknown setting "compressor"/],
  [{ kind: 'd2' }, /d2 algorithm needs symmetric weights, .*; it fits ring, .*; this topology fits dpsgd, /],
];

it('what is wrong is told in a sentence each, with exit code 2, and nothing is written', async () => {
  write('plain.mjs', plain);
  const modules = wrong.map(([what, text], index) => {
    write(`${index}.ts`, text);
    return { name: what.replaceAll(' ', '-'), algorithm: { kind: 'module', path: `${index}.ts` } };
  });
  const others = mistaken.map(([algorithm], index) => ({ name: `mistake-${index}`, algorithm }));
  experiment({ topology: { kind: 'exponential' }, compare: [...modules, ...others] });
  const { status, stdout, stderr } = await dbench('run', 'study/a.json');
  const lines = stderr.trim().split('\n').slice(1);
  const says = [...wrong.map((row) => row[2]), ...mistaken.map((row) => row[1])];
  says.forEach((expected, index) => {
    expect.soft(lines[index]).toMatch(expected);
  });
  expect(lines).toHaveLength(says.length);
  expect([status, stdout]).toEqual([2, '']);
  expect(existsSync(join(folder, 'runs'))).toBe(false);
});

it('the program in the docs works as it stands', async () => {
  const page = readFileSync(new URL('../../docs/own.md', import.meta.url), 'utf8');
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(fileURLToPath(new URL('../../', import.meta.url)), join(folder, 'node_modules/dbench'));
  writeFileSync(join(folder, 'program.mjs'), /^```js\n(import [\s\S]*?)^```$/m.exec(page)![1]!);
  const { stdout, stderr } = await run([process.execPath, 'program.mjs'], folder);
  expect(stderr).toBe('');
  expect(stdout.trim().split('\n')).toEqual(["[ 'x', 'c' ] 7", expect.stringContaining('Lian'), 'true']);
});

it('a module that never ends is ended after five seconds', async () => {
  write('mine.ts', 'for (;;);');
  const { status, stderr } = await dbench('algorithm', 'check', 'study/mine.ts');
  expect(stderr).toMatch(/^dbench: the module .*mine.ts: it gives no answer within 5 seconds, and was ended\n$/);
  expect(status).toBe(2);
});

it('a method of one’s own is checked as those of the package are', async () => {
  write('mine.ts', typed);
  const good = await dbench('algorithm', 'check', 'study/mine.ts', '--set', 'beta=0.5', '--json');
  const { ok, findings } = JSON.parse(good.stdout);
  expect([good.status, ok]).toEqual([0, true]);
  expect(findings.map(({ check }: { check: string }) => check)).toContain('1, 2 and 3 workers');
  expect(findings[0].found).toBe('keeps x, m; sends 1 row; needs weights whose rows and columns sum to 1');
  write('wild.mjs', `export default { name: 'wild', step: 'x = W(x) - 200*eta*grad(x)' }`);
  const bad = await dbench('algorithm', 'check', 'study/wild.mjs');
  expect(bad.stdout).toMatch(/quadratics that disagree +NO +diverges/);
  expect(bad.status).toBe(1);
});
