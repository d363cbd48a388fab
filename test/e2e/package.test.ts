import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { vendor } from '../../scripts/vendor.ts';
import { runtimePlatforms, runtimeVersion } from '../../src/onnx/runtime.ts';
import { type Ended, run } from '../command.ts';

/** The packed tarball on a machine that never saw the repository: an empty home, an empty folder, npm's registry and nothing else. */
const root = fileURLToPath(new URL('../..', import.meta.url));
const at = mkdtempSync(join(tmpdir(), 'dbench-package-'));
const [home, folder] = [join(at, 'home'), join(at, 'folder')];
const dbench = join(folder, 'node_modules/.bin/dbench');

/** Without what `npm test` tells its scripts, but for the registry. */
const strange = /^(npm_(?!config_(registry|cafile)$)|NODE_|DBENCH_|XDG_|INIT_CWD)/;
const env = {
  ...Object.fromEntries(
    Object.keys(process.env).map((name) => [name, strange.test(name) ? undefined : process.env[name]]),
  ),
  HOME: home,
  npm_config_update_notifier: 'false',
  npm_config_audit: 'false',
};
const started = (...command: string[]): Promise<Ended> => run(command, folder, { env });
const allBelow = (path: string) =>
  existsSync(path) ? readdirSync(path, { recursive: true, encoding: 'utf8' }).sort() : [];

let packed: { readonly filename: string; readonly files: readonly { readonly path: string }[] };
let installed: Ended;
beforeAll(async () => {
  await vendor(runtimePlatforms);
  mkdirSync(home);
  mkdirSync(folder);
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', at];
  [packed] = JSON.parse(
    execFileSync('npm', pack, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
  );
  installed = await started('npm', 'install', join(at, packed.filename));
});
afterAll(() => rmSync(at, { recursive: true, force: true }));

it('is what a user needs and nothing else', () => {
  const paths = packed.files.map(({ path }) => path);
  const [own, carried] = [
    paths.filter((path) => !path.startsWith('vendor/')),
    paths.filter((path) => path.startsWith('vendor/')),
  ];
  expect(own.filter((path) => /\.map$|\.test\.|tensor\/reference|^src\/|^test\//.test(path))).toEqual([]);
  expect(own).toEqual(
    expect.arrayContaining(['LICENSE', 'THIRD-PARTY.md', 'CITATION.cff', 'SECURITY.md', 'experiments/quickstart.yaml']),
  );
  for (const platform of runtimePlatforms)
    expect(carried.filter((path) => path.startsWith(`vendor/onnxruntime/${platform}/`))).toHaveLength(2);
  expect(carried).toHaveLength(2 * runtimePlatforms.length + 4);
});

it('installs without a word of warning', () => {
  expect(installed).toMatchObject({ status: 0, stderr: '' });
});

describe('the installed command', () => {
  it('says what it offers, and what it computes with', async () => {
    expect(await started(dbench, '--help')).toMatchObject({
      status: 0,
      stderr: '',
      stdout: expect.stringContaining('compare'),
    });
    const doctor = await started(dbench, 'doctor', '--json');
    expect(JSON.parse(doctor.stdout)).toMatchObject({ onnxruntime: { version: runtimeVersion } });
  });

  it.each(['onnx', 'auto'])(
    'gives the quickstart’s table with the backend %s, and writes runs alone',
    async (backend) => {
      const there = () => [home, join(folder, 'node_modules')].map(allBelow).concat(readdirSync(folder));
      const before = there();
      const short = ['epochs=1', 'data.train=2048', 'evaluation.samples=200'].flatMap((setting) => ['--set', setting]);
      const { status, stdout } = await started(dbench, 'compare', ...short, '--backend', backend, '--json');
      expect(status).toBe(0);
      expect(JSON.parse(stdout)).toHaveLength(6);
      rmSync(join(folder, 'runs'), { recursive: true });
      expect(there()).toEqual(before);
    },
  );
});

describe('the installed library', () => {
  const program = `import { buildTopology, summarize } from 'dbench';
const gap: number = summarize(buildTopology({ kind: 'ring' }, 8, 1)).spectralGap;
console.log(gap);
`;

  it('is imported', async () => {
    writeFileSync(join(folder, 'use.mjs'), program.replace(': number', ''));
    const { status, stdout, stderr } = await started(process.execPath, 'use.mjs');
    expect([status, stderr]).toEqual([0, '']);
    expect(Number(stdout)).toBeCloseTo((2 / 3) * (1 - Math.cos(Math.PI / 4)), 6);
  });

  it('has types', async () => {
    writeFileSync(join(folder, 'use.mts'), program);
    writeFileSync(join(folder, 'misuse.mts'), program.replace('number', 'string'));
    const tsc = [process.execPath, join(root, 'node_modules/typescript/bin/tsc'), 'use.mts', 'misuse.mts'];
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2023'];
    const { stdout } = await started(
      ...tsc,
      ...options,
      '--typeRoots',
      join(root, 'node_modules/@types'),
      '--types',
      'node',
    );
    expect(stdout.trim()).toMatch(/^misuse\.mts.*Type 'number' is not assignable to type 'string'\.$/);
  });
});
