import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { send, serve, type TestServer } from '../data/server.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const program = join(root, 'dist/cli/main.js');
let folder: string;
let server: TestServer | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-data-'));
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  rmSync(folder, { recursive: true });
});

const environment = (more: NodeJS.ProcessEnv = {}) => ({
  ...process.env,
  DBENCH_DATA: folder,
  DBENCH_MIRROR: '',
  ...more,
});

function dbench(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, 'data', ...args], {
    encoding: 'utf8',
    env: environment(),
  });
  return { status, stdout, stderr };
}

/** For commands that talk to a server of this process. */
function start(args: readonly string[], more: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, [program, 'data', ...args], { env: environment(more) });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (text) => (stdout += text));
  child.stderr.on('data', (text) => (stderr += text));
  const end = new Promise<{ status: number | null; stdout: string; stderr: string }>((resolve) =>
    child.on('close', (status) => resolve({ status, stdout, stderr })),
  );
  return { child, end };
}

const files = () => readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();

function experiment(data: object, more: object = {}): string {
  const file = join(folder, 'experiment.json');
  const settings = {
    name: 'x',
    replicas: 4,
    data,
    model: { kind: 'mlp' },
    batch: 8,
    epochs: 1,
    learningRate: { base: 0.1 },
  };
  writeFileSync(file, JSON.stringify({ ...settings, ...more }));
  return file;
}

describe('dbench data list', () => {
  it('tells what is here, its size, where it comes from and its licence', () => {
    mkdirSync(join(folder, 'tinyshakespeare'));
    writeFileSync(join(folder, 'tinyshakespeare/input.txt.gz'), gzipSync('x'));
    const { folder: named, sets } = JSON.parse(dbench('list', '--json').stdout);
    expect(named).toBe(folder);
    const here = Object.fromEntries(sets.map((set: { name: string; here: string }) => [set.name, set.here]));
    expect(here).toEqual({
      mnist: 'built in',
      'fashion-mnist': 'no',
      cifar10: 'no',
      'wikitext-2': 'no',
      shakespeare: 'yes',
      libsvm: 'no',
      'mnist-writers': 'no',
      table: 'yours',
      numpy: 'yours',
      images: 'yours',
      text: 'yours',
      synthetic: 'built in',
    });
    for (const { from, licence } of sets) expect([from, licence].join('')).not.toBe('');
    const { stdout } = dbench('list');
    expect(stdout).toMatch(/^cifar10 +no +184 MB +photographs .* Krizhevsky, Toronto +none stated$/m);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThan(121);
  });
});

describe('dbench data verify', () => {
  it('passes over what is absent unless it is named, and checks what is built in', () => {
    const all = dbench('verify');
    expect(all).toMatchObject({ status: 0, stderr: '' });
    expect(all.stdout).toMatch(/^mnist +ok +4 files, 55 MB$/m);
    expect(dbench('verify', 'cifar10')).toMatchObject({
      status: 2,
      stderr: 'dbench: cifar10 is not here\nhint: get it with: dbench data get cifar10\n',
    });
  });

  it('names what is damaged or incomplete', () => {
    mkdirSync(join(folder, 'wikitext-2'));
    mkdirSync(join(folder, 'tinyshakespeare'));
    writeFileSync(join(folder, 'wikitext-2/train.txt.gz'), gzipSync('x'));
    writeFileSync(join(folder, 'tinyshakespeare/input.txt'), Buffer.alloc(1_115_394));
    const { status, stdout, stderr } = dbench('verify', '--json');
    expect(status).toBe(2);
    expect(stderr).toContain('dbench: wikitext-2 is damaged, shakespeare is damaged');
    const states = JSON.parse(stdout).sets.filter((set: { state: string }) => set.state === 'damaged');
    expect(states[0].files[0]).toEqual({
      name: 'train.txt',
      state: 'damaged',
      problem: 'truncated: 1 of 10,797,148 bytes',
    });
    expect(states[0].files[1].state).toBe('missing');
    expect(states[1].files[0].problem).toMatch(/^wrong checksum: sha256:/);
  });
});

describe('dbench data get', () => {
  it('has nothing to do for what is there', () => {
    const { status, stdout } = dbench('get', 'mnist');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^mnist: already here, checksums match \(4 files, 55 MB in .*vendor.mnist\)\n$/);
    expect(files()).toEqual([]);
  });

  it('is stopped by Ctrl-C and keeps what it has for the next time', async () => {
    server = await serve((request, response) =>
      request.url!.endsWith('.gz')
        ? response.writeHead(404).end()
        : send(request, response, Buffer.alloc(1_115_394), 500_000),
    );
    const { child, end } = start(['get', 'shakespeare'], { DBENCH_MIRROR: server.url });
    const part = join(folder, '.partial/shakespeare/input.txt.part');
    while (!existsSync(part)) await new Promise((resolve) => setTimeout(resolve, 20));
    await new Promise((resolve) => setTimeout(resolve, 200));
    child.kill('SIGINT');
    const { status, stdout, stderr } = await end;
    expect({ status, stdout }).toEqual({ status: 130, stdout: '' });
    expect(stderr).toContain('dbench: stopped; what was fetched is kept, the same command continues');
    expect(files()).toEqual(['.partial', '.partial/shakespeare', '.partial/shakespeare/input.txt.part']);
  });

  it.skipIf(!existsSync('/dev/full'))('on a full disk says so and leaves nothing (needs /dev/full)', async () => {
    server = await serve((request, response) => send(request, response, gzipSync(Buffer.alloc(1_115_394))));
    mkdirSync(join(folder, '.partial/shakespeare'), { recursive: true });
    symlinkSync('/dev/full', join(folder, '.partial/shakespeare/input.txt.gz.part'));
    const { status, stderr } = await start(['get', 'shakespeare'], { DBENCH_MIRROR: server.url }).end;
    expect(status).toBe(2);
    expect(stderr).toMatch(
      /dbench: cannot write .*input\.txt\.gz: the disk is full\nhint: DBENCH_DATA names another folder/,
    );
    expect(files()).toEqual([]);
  });

  it.each([
    [['get'], /missing required argument 'set'/],
    [['get', 'cifar_10'], /unknown data set "cifar_10"\nhint: did you mean "cifar10"\?/],
    [['get', 'synthetic'], /synthetic has no files to get or verify: it is drawn from the seed/],
    [['verify', 'mnits'], /unknown data set "mnits"\nhint: did you mean "mnist"\?/],
    [['lst'], /unknown command 'lst'/],
  ])('mistakes: data %j', (args, message) => {
    const { status, stdout, stderr } = dbench(...args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });
});

describe('dbench data partition', () => {
  it('shows classes and replicas, equal deals once', () => {
    const { status, stdout } = dbench('partition', join(root, 'experiments/quickstart.yaml'), '--set', 'replicas=4');
    expect(status).toBe(0);
    expect(stdout).toContain(
      'mnist dealt to 4 replicas: iid\n  runs: C_complete, D_complete, D_exponential, D_torus, D_ring, Ada\n',
    );
    expect(stdout).toContain('10,240 samples, 2,560 per replica\n  320 steps per epoch for every replica\n');
    expect(stdout.match(/^class /gm)).toHaveLength(1);
    expect(stdout).toMatch(/^all +2,560 +2,560 +2,560 +2,560 +10,240$/m);
  });

  it('is compact for many replicas and complete in JSON', () => {
    const file = experiment({ kind: 'synthetic', train: 2000, partition: { kind: 'shards' } }, { replicas: 100 });
    const { stdout } = dbench('partition', file);
    expect(stdout).toMatch(/^class +min +mean +max +without +all$/m);
    expect(stdout).toMatch(/^all +20 +20 +20 +0 +2,000$/m);
    const [found] = JSON.parse(dbench('partition', file, '--json').stdout);
    expect(found).toMatchObject({
      runs: ['x'],
      data: 'synthetic',
      partition: { kind: 'shards', perReplica: 2 },
      total: 2000,
    });
    expect(found.counts).toHaveLength(100);
    expect(found.counts[0].reduce((a: number, b: number) => a + b)).toBe(20);
    expect(found.counts[0].filter((count: number) => count > 0).length).toBeLessThanOrEqual(2);
    expect(found).toMatchObject({ stepsPerEpoch: 2, shareDeviation: null });
    expect(found.batchesPerPass[0]).toBe(2);
  });

  it('says how many steps training makes of uneven shards, and how far equal sizes are from the draw', () => {
    const dealt = (equalSizes: boolean) => {
      const partition = { kind: 'dirichlet', alpha: 0.1, equalSizes };
      const file = experiment({ kind: 'synthetic', train: 4000, partition });
      return {
        text: dbench('partition', file).stdout,
        json: JSON.parse(dbench('partition', file, '--json').stdout)[0],
      };
    };
    const uneven = dealt(false);
    expect(uneven.json.stepsPerEpoch).toBe(125);
    expect(new Set(uneven.json.batchesPerPass).size).toBeGreaterThan(1);
    expect(uneven.text).toMatch(
      /125 steps per epoch for every replica; one pass over its own data takes a replica \d+ to/,
    );
    const even = dealt(true);
    expect(even.json.shareDeviation.drawn).toBeCloseTo(Math.sqrt(0.09 / 2), 6);
    expect(even.text).toMatch(/class shares deviate by 0.1\d+, less than the 0.212 of a draw with this alpha/);
  });

  it.each([
    [{ kind: 'cifar10' }, {}, /the data set cifar10 is not here: .*\nhint: get it with: dbench data get cifar10/],
    [{ kind: 'mnist', partition: { kind: 'group' } }, {}, /hint: get it with: dbench data get mnist-writers/],
    [
      { kind: 'synthetic', train: 20 },
      {},
      /partition iid over 4 replicas: replica 0 gets 5 samples, fewer than one batch of 8/,
    ],
    [{ kind: 'synthetic', train: 3 }, { batch: 1 }, /partition iid over 4 replicas: replica 0 gets no data/],
    [
      { kind: 'mnist', train: 70_000 },
      {},
      /data.train: 70,000 samples wanted, there are 60,000\nhint: leave data.train out/,
    ],
    [
      { kind: 'synthetic', shape: [1e9, 1e9] },
      {},
      /12,000 samples of 10{18} numbers need .* of memory, .*\nhint: make data.train, data.test or data.shape smaller/,
    ],
    [{ kind: 'libsvm', trainPath: 'nothing.txt' }, {}, /cannot read the LIBSVM file .*nothing.txt: no such file/],
  ])('mistakes: %j', (data, more, message) => {
    const file = experiment(data, more);
    const { status, stdout, stderr } = dbench('partition', file);
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/^ +at /m);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(files()).toEqual(['experiment.json']);
  });
});
