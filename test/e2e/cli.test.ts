import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSession } from '../../src/onnx/backend.ts';
import { RuntimeTensor } from '../../src/onnx/runtime.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const main = join(root, 'dist/cli/main.js');
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-cli-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function dbench(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

function write(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return name;
}

describe('dbench topology', () => {
  it('prints the summary as JSON', () => {
    const { status, stdout } = dbench('topology', 'ring', '-n', '96', '--json');
    expect(status).toBe(0);
    const summary = JSON.parse(stdout);
    expect(summary).toMatchObject({
      kind: 'ring',
      n: 96,
      k: 2,
      degree: { min: 2, max: 2, mean: 2 },
      edges: 96,
      diameter: 48,
      doublyStochastic: true,
      periodSteps: 1,
    });
    expect(summary.spectralGap).toBeCloseTo(0.00142738, 8);
  });

  it('takes the settings of each kind as options, and the names of other tools', () => {
    const lattice = JSON.parse(
      dbench('topology', 'lattice', '-n', '96', '-k', '5', '--count-per-side', '--json').stdout,
    );
    expect(lattice).toMatchObject({ kind: 'lattice', k: 10 });
    expect(JSON.parse(dbench('topology', 'exp2', '-n', '96', '--json').stdout)).toMatchObject({
      kind: 'exponential',
      k: 7,
    });
  });

  it('shows bytes for a model size', () => {
    expect(dbench('topology', 'ring', '-n', '4', '--parameters', '272474').stdout).toContain(
      '544,948 by a replica (2.18 MB), 8.72 MB by all',
    );
  });

  it('compares all kinds, best gap per edge first, and says which do not exist', () => {
    const rows = JSON.parse(dbench('topology', 'compare', '-n', '7', '--json').stdout) as {
      kind: string;
      gapPerEdge?: number;
      reason?: string;
    }[];
    const gaps = rows.flatMap((row) => row.gapPerEdge ?? []);
    expect(gaps).toEqual([...gaps].sort((a, b) => b - a));
    expect(rows.find((row) => row.kind === 'torus')!.reason).toContain('prime');
    expect(dbench('topology', 'compare', '-n', '7').stdout).toContain('not for this n: torus(n=7)');
  });

  it('reads a topology from a file and draws it', () => {
    const file = write('path.txt', '3\n0 1\n1 2\n');
    const { status, stdout } = dbench('topology', 'file', '--path', file, '--json', '--svg', 'path.svg');
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ kind: 'file', n: 3, diameter: 2, edges: 2 });
    expect(readFileSync(join(folder, 'path.svg'), 'utf8')).toMatch(/^<svg /);
    expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });
});

describe('dbench validate', () => {
  it('accepts the experiments that come with the package', () => {
    const all = JSON.parse(dbench('experiments', '--json').stdout) as { name: string; description: string }[];
    expect(all.length).toBeGreaterThan(9);
    for (const { name, description } of all) {
      expect(description, name).toMatch(/\w/);
      expect(dbench('validate', name), name).toMatchObject({ status: 0, stderr: '' });
    }
  });

  it('takes a name for a file if there is one', () => {
    write('quickstart', dbench('experiments', 'quickstart').stdout.replace('replicas: 64', 'replicas: 12'));
    const replicas = (name: string) => JSON.parse(dbench('validate', name, '--json').stdout)[0].replicas;
    expect(replicas('quickstart')).toBe(12);
    rmSync(join(folder, 'quickstart'));
    expect(replicas('quickstart')).toBe(64);
    expect(dbench('validate', 'quikstart')).toMatchObject({
      status: 2,
      stdout: '',
      stderr:
        'dbench: cannot read the experiment quikstart: no such file or folder\n' +
        'hint: give a file, or the name of an experiment that comes with DBench; did you mean "quickstart"?\n',
    });
  });

  it('prints the resolved runs', () => {
    const { stdout } = dbench('validate', join(root, 'experiments/quickstart.yaml'), '--set', 'replicas=8', '--json');
    const runs = JSON.parse(stdout) as { name: string; replicas: number }[];
    expect(runs.map((run) => run.name)).toEqual([
      'C_complete',
      'D_complete',
      'D_exponential',
      'D_torus',
      'D_ring',
      'Ada',
    ]);
    expect(new Set(runs.map((run) => run.replicas))).toEqual(new Set([8]));
  });
});

it('dbench schema prints a JSON Schema', () => {
  expect(JSON.parse(dbench('schema').stdout)).toMatchObject({ title: 'DBench experiment', type: 'object' });
});

it('dbench doctor tells what the machine offers', () => {
  const found = JSON.parse(dbench('doctor', '--json').stdout);
  expect(['onnx', 'onednn']).toContain(found.backend);
  expect(found).toMatchObject({ node: process.version, onnxruntime: { providers: expect.arrayContaining(['cpu']) } });
  expect(found.cores).toBeGreaterThan(0);
});

describe('dbench model', () => {
  it('prints tensors and counts', () => {
    const { status, stdout } = dbench('model', 'resnet20', '--set', 'shortcut=pad', '--json');
    expect(status).toBe(0);
    const found = JSON.parse(stdout);
    expect(found).toMatchObject({ parameters: 269722, model: { kind: 'resnet20', shortcut: 'pad' } });
    expect(found.tensors[0]).toMatchObject({ name: 'conv1.weight', shape: [16, 3, 3, 3], offset: 0, kind: 'weight' });
    // 40.6 million multiplications, as torchvision's counters say, in the convolutions and the last layer.
    expect(found.flopsPerSample.forward).toBeCloseTo(2 * 40_551_040, -6);
    expect(dbench('model', 'lstm', '--classes', '28869').stdout).toContain('28,949,319');
  });

  it('exports a step that onnxruntime runs, with its layout', async () => {
    const settings = ['--set', 'filters=[4]', '--batch', '8', '--optimizer', '{ kind: sgd, momentum: 0.9 }'];
    const { status } = dbench('model', 'cnn', ...settings, '--export', 'step.onnx', '--step', 'train', '--json');
    expect(status).toBe(0);
    const layout = JSON.parse(readFileSync(join(folder, 'step.json'), 'utf8'));
    expect(layout).toMatchObject({ step: 'train', batch: 8, slots: ['momentum'], optimizer: { momentum: 0.9 } });
    const session = await openSession(readFileSync(join(folder, 'step.onnx')), { optimize: true });
    expect(layout.inputs.map(({ name }: { name: string }) => name)).toEqual(session.inputNames);
    const feeds = layout.inputs.map(({ name, dtype, shape }: { name: string; dtype: 'float32'; shape: number[] }) => {
      const size = shape.reduce((product, axis) => product * axis, 1);
      const values = dtype === 'float32' ? new Float32Array(size).fill(0.01) : new Int32Array(size);
      return [name, new RuntimeTensor(dtype, values, shape)];
    });
    const results = await session.run(Object.fromEntries(feeds));
    session.release();
    expect(Object.keys(results).sort()).toEqual(layout.outputs.map(({ name }: { name: string }) => name).sort());
    expect(results.loss!.data[0]).toBeCloseTo(Math.log(10), 1);
    expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });
});

it('dbench bench step measures a step against the matrix product', () => {
  const args = ['bench', 'step', '--model', 'mlp', '--batch', '8', '--threads', '1', '--seconds', '0.2', '--json'];
  const { status, stdout } = dbench(...args);
  expect(status).toBe(0);
  const found = JSON.parse(stdout);
  expect(found).toMatchObject({ batch: 8, threads: 1, parameters: 101770 });
  expect(found.samplesPerSecond).toBeCloseTo(8000 / found.stepMs, 3);
  expect(found.flopsPerStep).toBe(2 * 8 * (2 * 784 * 128 + 3 * 128 * 10));
  for (const name of ['stepMs', 'gflops', 'peakGflops', 'shareOfPeak', 'sessionMs', 'memoryBytes'])
    expect(found[name], name).toBeGreaterThan(0);
});

describe('mistakes', () => {
  it.each([
    [['topologi'], /unknown command "topologi"\nhint: did you mean "topology"\?/],
    [['topology', 'rnig', '-n', '8'], /unknown command 'rnig'\n\(Did you mean ring\?\)/],
    [['topology', 'ring'], /the number of replicas is missing\nhint: give it with -n/],
    [['topology', 'ring', '-n', '0'], /whole number from 1 to 20000, got 0/],
    [['topology', 'ring', '-n', '2.5'], /whole number from 1 to 20000, got 2\.5/],
    [['topology', 'ring', '-n', 'NaN'], /whole number from 1 to 20000, got NaN/],
    [['topology', 'compare', '-n', '0'], /whole number from 1 to 20000, got 0/],
    [['topology', 'ring', '-n', '8', '--jsn'], /unknown option '--jsn'\n\(Did you mean --json\?\)/],
    [
      ['topology', 'torus', '-n', '7', '--svg', 'out.svg'],
      /torus\(n=7\): n is prime.*\nhint: use n = 6 or 8, or "ring"/,
    ],
    [
      ['topology', 'lattice', '-n', '8', '-k', '9', '--svg', 'out.svg'],
      /lattice\(n=8, k=9\): k must be at most n−1 = 7\nhint: for all-to-all use "complete"/,
    ],
    [['topology', 'lattice', '-n', '8', '-k', 'x'], /lattice: k: must be a whole number from 1, got "x"/],
    [
      ['topology', 'ring', '-n', '4', '--svg', 'no/such/folder.svg'],
      /cannot write no\/such\/folder\.svg: no such file or folder/,
    ],
    [['topology', 'file', '--path', 'none.txt'], /cannot read the topology file none\.txt: no such file/],
    [['validate', 'none.yaml'], /cannot read the experiment none\.yaml: no such file/],
    [['model', 'resnet21'], /"resnet21" is not a known kind; did you mean "resnet20"\?/],
    [['model', 'mlp', '--set', 'hidden=[0]'], /hidden\[0\]: must be a whole number from 1, got 0/],
    [['model', 'cnn', '--shape', '784', '--export', 'out.onnx'], /cnn needs images .* got samples of \[784\]/],
    [['model', 'cnn', '--export', 'no/such/step.onnx'], /cannot write no\/such\/step\.json: no such file or folder/],
    [['model', 'cnn', '--optimizer', 'sdg'], /"sdg" is not a known kind; did you mean "sgd"/],
    [['model', 'cnn', '--batch', '0'], /--batch must be a whole number from 1, got "0"/],
    [['bench', 'stpe'], /unknown command 'stpe'/],
    [['show', ''], /<\w+> is empty\nhint: give it a value, or leave it out/],
    [['runs', 'delete', '', '--dry-run'], /<\w+> is empty/],
    [['runs', '--runs', ''], /--runs is empty/],
    [['serve', '--host', ''], /--host is empty/],
    [['validate', 'quickstart', '--set', 'model.hidden.-1=9'], /there is no item -1, the list has 1, counted from 0/],
    [['run', 'nosuch', '--watch', '--runs', 'out.svg'], /nosuch/],
    [['bench', 'step'], /required option '--model <kind>' not specified/],
    [['bench', 'step', '--model', 'mlp', '--seconds', '-1'], /--seconds must be a number above 0/],
    [['validate'], /missing required argument 'experiment'/],
    [['help', 'topologi'], /unknown command "topologi"/],
    [
      ['bench', 'mix', '-n', '100000', '-P', '100000000'],
      /100,000 replicas of .* need 80 TB of memory, this machine has/,
    ],
  ])('%s', (args, message) => {
    const { status, stdout, stderr } = dbench(...args);
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/^ +at /m);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(existsSync(join(folder, 'out.svg'))).toBe(false);
  });

  it('in an experiment are all named', () => {
    const file = write('bad.yaml', 'name: x\nreplicas: 0\nepoch: 3\n');
    const { status, stderr } = dbench('validate', file);
    expect(status).toBe(2);
    expect(stderr).toContain('bad.yaml: 7 problems');
    expect(stderr).toContain('  - replicas: must be a whole number from 1 to 20000, got 0');
    expect(stderr).toContain('  - unknown setting "epoch"; did you mean "epochs"?');
  });
});

it('dbench help shows the help of a command', () => {
  expect(dbench('help')).toEqual(dbench('--help'));
  expect(dbench('help', 'data', 'get').stdout).toBe(dbench('data', 'get', '--help').stdout);
});

it.runIf(existsSync('/dev/full'))('output that cannot be written is told', () => {
  const { status, stderr } = spawnSync('sh', ['-c', `"$0" "$1" schema > /dev/full`, process.execPath, main], {
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({ status: 2, stderr: 'dbench: cannot write the output: the disk is full\n' });
});

it('an experiment that no memory can hold is refused and leaves nothing behind', () => {
  const file = write('huge.yaml', `${readFileSync(join(root, 'experiments/quickstart.yaml'))}`);
  const { status, stderr } = dbench('run', file, '--set', 'model.hidden=[1000000000]', '--runs', 'huge');
  expect(stderr).toMatch(/^dbench: 64 replicas of 795,000,000,010 parameters need 407 TB of memory/);
  expect(status).toBe(2);
  expect(existsSync(join(folder, 'huge'))).toBe(false);
});

describe('dbench bench', () => {
  it('times mixing as JSON and as a table, with threads of the built package', () => {
    const { status, stdout } = dbench(
      'bench',
      'mix',
      '-n',
      '8',
      '-P',
      '100',
      '--workers',
      '2',
      '--repetitions',
      '2',
      '--json',
    );
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ n: 8, parameters: 100, workers: 2, memcpy: { name: 'memcpy' } });
    expect(dbench('bench', 'mix', '-n', '8', '-P', '100', '--repetitions', '2').stdout).toContain('of memcpy');
  });

  it('refuses counts that make no sense', () => {
    const { status, stderr } = dbench('bench', 'mix', '--workers', '0');
    expect(status).toBe(2);
    expect(stderr).toContain('--workers must be a whole number from 1 to 64');
  });
});

describe('dbench bench replicas', () => {
  it('trains through the engine and reports time, phases and memory', () => {
    const args = ['bench', 'replicas', '-n', '3,2', '--steps', '3', '--json'];
    const { workers, runs } = JSON.parse(dbench(...args).stdout);
    expect(workers).toBe(2);
    expect(runs).toMatchObject([
      { n: 2, parameters: 101_770 },
      { n: 3, parameters: 101_770 },
    ]);
    for (const { n, stepMs, phasesMs, computeShare, replicaStepsPerSecond, peakBytes } of runs) {
      expect(replicaStepsPerSecond).toBeCloseTo((1000 * n) / stepMs, 6);
      expect(phasesMs.compute).toBeGreaterThan(0);
      expect(computeShare).toBeCloseTo(phasesMs.compute / stepMs, 9);
      expect(peakBytes).toBeGreaterThan(1e7);
    }
  });

  it('refuses what it cannot do', () => {
    const of = (...args: string[]) => dbench('bench', 'replicas', ...args);
    expect(of('-n', '4,x')).toMatchObject({ status: 2, stdout: '' });
    expect(of('-n', '4,x').stderr).toContain('--n must be a whole number from 1 to 100000, got "x"');
    expect(of('--model', 'vgg').stderr).toContain('--model must be one of mlp, resnet20, got "vgg"');
  });
});
