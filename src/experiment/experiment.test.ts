import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { UserError } from '../base/error.ts';
import { loadExperiment, override, resolve } from './experiment.ts';
import { jsonSchema } from './schema.ts';
import { merge, parseText } from './source.ts';

const minimal = {
  name: 'small',
  replicas: 8,
  data: { kind: 'mnist' },
  model: { kind: 'mlp' },
  batch: 4,
  epochs: 2,
  learningRate: { base: 0.1 },
};

/** The message and hint of the UserError that resolving throws. */
function problem(data: unknown): string {
  try {
    resolve(data, 'test');
  } catch (error) {
    if (error instanceof UserError) return error.message;
    throw error;
  }
  return 'no problem';
}

describe('resolve', () => {
  it('fills in every default and freezes the result', () => {
    const [run] = resolve(minimal, 'test');
    expect(run).toMatchObject({
      seed: 1,
      data: { kind: 'mnist', partition: { kind: 'iid' }, dropLast: true },
      optimizer: { kind: 'sgd', momentum: 0, nesterov: false, weightDecay: 0 },
      learningRate: { base: 0.1, warmup: 0, schedule: { kind: 'constant' }, scaling: { kind: 'none' } },
      algorithm: { kind: 'dpsgd', order: 'adapt-then-combine', localSteps: 1, finalMerge: false },
      topology: { kind: 'ring' },
      consensus: { kind: 'none' },
      probes: { everySteps: 1, norms: true },
      evaluation: { replicas: 'all', samples: 'all', merged: true },
      checkpoints: { everyEpochs: 1, keep: 2 },
    });
    expect(Object.isFrozen(run)).toBe(true);
    expect(Object.isFrozen(run!.data.partition)).toBe(true);
  });

  it('is idempotent: a resolved run resolves to itself', () => {
    const runs = resolve(minimal, 'test');
    expect(resolve(structuredClone(runs[0]), 'test')).toEqual(runs);
  });

  it('expands variants: groups merge, another kind replaces', () => {
    const runs = resolve(
      {
        ...minimal,
        topology: { kind: 'lattice', k: 4 },
        compare: [
          { name: 'same' },
          { name: 'wider', topology: { k: 6 } },
          { name: 'other', topology: { kind: 'complete' }, learningRate: { warmup: 1 } },
        ],
      },
      'test',
    );
    expect(runs.map((run) => run.name)).toEqual(['same', 'wider', 'other']);
    expect(runs[0]!.topology).toMatchObject({ kind: 'lattice', k: 4 });
    expect(runs[1]!.topology).toMatchObject({ kind: 'lattice', k: 6 });
    expect(runs[2]!.topology).toEqual({ kind: 'complete' });
    expect(runs[2]!.learningRate).toMatchObject({ base: 0.1, warmup: 1 });
  });

  it('reports all problems at once, each with its path', () => {
    const message = problem({
      ...minimal,
      bach: 3,
      epochs: 0,
      replicas: 'many',
      model: { kind: 'mpl' },
      learningRate: { base: -1, schedule: { kind: 'multi-step' } },
    });
    expect(message.split('\n')).toEqual([
      'test: 6 problems',
      '  - replicas: must be a whole number from 1 to 20000, got "many"',
      '  - model.kind: "mpl" is not a known kind; did you mean "mlp"?',
      '  - epochs: must be a whole number from 1 to 1000000, got 0',
      '  - learningRate.base: must be a number above 0, got -1',
      '  - learningRate.schedule.epochs: is missing; it must be a list of a number from 0, at least one',
      '  - unknown setting "bach"; did you mean "batch"?',
    ]);
  });

  it.each([
    ['nothing', null, 'test: must be a group of settings, got null'],
    ['a list', [], 'test: must be a group of settings, got []'],
    [
      'NaN',
      { ...minimal, learningRate: { base: Number.NaN } },
      'test: learningRate.base: must be a number above 0, got NaN',
    ],
    [
      '∞',
      { ...minimal, epochs: Number.POSITIVE_INFINITY },
      'test: epochs: must be a whole number from 1 to 1000000, got Infinity',
    ],
    ['a fraction', { ...minimal, batch: 1.5 }, 'test: batch: must be a whole number from 1, got 1.5'],
    [
      'a look-ahead along no momentum',
      { ...minimal, optimizer: { kind: 'sgd', nesterov: true } },
      'test: optimizer: nesterov needs a momentum above 0, as in momentum: 0.9',
    ],
    ['a bad name', { ...minimal, name: 'a/b' }, 'test: name: must be text like ^[\\w.+-]+$, got "a/b"'],
    [
      'an impossible topology',
      { ...minimal, topology: { kind: 'torus' }, replicas: 7 },
      /^test: topology: torus\(n=7\): n is prime/,
    ],
    [
      'k too large',
      { ...minimal, topology: { kind: 'lattice', k: 9 } },
      /^test: topology: lattice\(n=8, k=9\): k must be at most n−1 = 7/,
    ],
    [
      'ada without an end',
      { ...minimal, topology: { kind: 'ada', k0: 4 } },
      'test: topology: give either decay or kEnd',
    ],
    [
      'control of nothing',
      { ...minimal, algorithm: { kind: 'centralized' }, consensus: { kind: 'fixed' } },
      /there is nothing to control/,
    ],
    [
      'a control phase that ends first',
      { ...minimal, consensus: { kind: 'fixed', from: 2, to: 1 } },
      /must be above consensus.from = 2, got 1/,
    ],
    ['an empty comparison', { ...minimal, compare: [] }, /^test: compare: must be a list/],
    ['a nameless variant', { ...minimal, compare: [{}] }, /^test: compare\[0\].name: is missing/],
    [
      'equal names',
      { ...minimal, compare: [{ name: 'a' }, { name: 'a' }] },
      'test: compare: the name "a" is used twice; every run needs its own',
    ],
    [
      'a typo in a variant',
      { ...minimal, compare: [{ name: 'a', topolgy: 1 }] },
      'test: compare[0] (a): unknown setting "topolgy"; did you mean "topology"?',
    ],
  ])('refuses %s', (_, data, message) => {
    if (typeof message === 'string') expect(problem(data)).toBe(message);
    else expect(problem(data)).toMatch(message);
  });

  it('reports what variants share only once', () => {
    const message = problem({ ...minimal, epochs: 0, compare: [{ name: 'a' }, { name: 'b', batch: 0 }] });
    expect(message.split('\n')).toEqual([
      'test: 2 problems',
      '  - epochs: must be a whole number from 1 to 1000000, got 0',
      '  - compare[1] (b): batch: must be a whole number from 1, got 0',
    ]);
  });
});

describe('a ladder', () => {
  const rungsOf = (settings: object) => {
    const [run] = resolve({ ...minimal, ...settings }, 'test');
    return (run!.algorithm as unknown as { rungs: { every: number; gain: number; cost: number }[] }).rungs;
  };
  const rungs = [{ every: 1 }, { every: 3 }, { by: 'gossip', every: 1 }];

  it('knows what its rungs cost and how far replicas come apart on them, from replicas, momentum and topology', () => {
    // Without momentum and with W = 1/n every gossip begins anew; of the messages of 16 gossips one is an average of all.
    const plain = rungsOf({ topology: { kind: 'complete' }, algorithm: { kind: 'ladder', rungs } });
    expect(plain.map(({ gain }) => gain)).toEqual([7 / 8, 21 / 8, expect.closeTo(7 / 8, 6)]);
    expect(plain.map(({ cost }) => cost)).toEqual([1.75, 0.583333, expect.closeTo((15 * 7 + 1.75) / 16, 4)]);
    // 1, 1 + β and 1 + β + β² of the last three gradients.
    const heavy = rungsOf({ optimizer: { kind: 'sgd', momentum: 0.5 }, algorithm: { kind: 'ladder', rungs } });
    expect(heavy[1]!.gain).toBeCloseTo((7 / 8) * (1 + 2.25 + 1.75 ** 2), 5);
    expect(heavy[2]!.gain).toBeGreaterThan(2 * heavy[0]!.gain);
    const slow = rungsOf({
      topology: { kind: 'one-peer-exponential' },
      algorithm: { kind: 'ladder', rungs, message: 1 },
    });
    expect(slow[2]!.cost).toBeLessThan(slow[1]!.cost);
  });

  it('keeps what is given, also what it filled in before', () => {
    const algorithm = { kind: 'ladder', rungs: [{ every: 1, gain: 5, cost: 9 }, { every: 2 }] };
    const [first] = resolve({ ...minimal, algorithm }, 'test');
    expect(rungsOf({ algorithm })[0]).toMatchObject({ gain: 5, cost: 9 });
    expect(resolve({ ...minimal, replicas: 4, algorithm: first!.algorithm }, 'test')[0]!.algorithm).toEqual(
      first!.algorithm,
    );
  });

  it('is checked as everything else', () => {
    expect(problem({ ...minimal, algorithm: { kind: 'ladder', rungs: [] } })).toMatch(/algorithm\.rungs/);
    expect(problem({ ...minimal, algorithm: { kind: 'ladder', rungs: [{ every: 0 }] } })).toMatch(/rungs\[0\]\.every/);
  });
});

describe('override', () => {
  it('sets by path, reads the value as YAML and leaves the rest alone', () => {
    expect(override({ a: { b: 1, c: 2 } }, 'a.b=3')).toEqual({ a: { b: 3, c: 2 } });
    expect(override({}, 'model.hidden=[64, 32]')).toEqual({ model: { hidden: [64, 32] } });
    expect(override({ compare: [{ name: 'x' }] }, 'compare[0].name=y')).toEqual({ compare: [{ name: 'y' }] });
    expect(override({ a: 1 }, 'description=k = v')).toEqual({ a: 1, description: 'k = v' });
  });

  it('drops the settings of the old kind with it', () => {
    expect(override({ topology: { kind: 'lattice', k: 4 } }, 'topology.kind=ring')).toEqual({
      topology: { kind: 'ring' },
    });
  });

  it.each(['nothing', '=1', 'a..b=1', 'compare[5].name=x', 'a=[1'])('refuses --set %s', (assignment) => {
    expect(() => override({ compare: [{}] }, assignment)).toThrow(UserError);
  });
});

it('merge replaces lists as a whole', () => {
  expect(merge({ a: [1, 2], b: { c: 1 } }, { a: [3], b: { d: 2 } })).toEqual({ a: [3], b: { c: 1, d: 2 } });
});

describe('files', () => {
  it('names the line of a syntax error', () => {
    expect(() => parseText('name: a\nname: b\n', 'x.yaml')).toThrow(/^x.yaml:2: Map keys must be unique/);
    expect(() => parseText('{"a": 1,, }', 'x.json')).toThrow(/^x.json:1:/);
  });

  it('may be JSON as well as YAML', () => {
    const folder = mkdtempSync(join(tmpdir(), 'dbench-experiment-'));
    try {
      const file = join(folder, 'a.json');
      writeFileSync(file, JSON.stringify(minimal));
      expect(loadExperiment(file, ['replicas=16'])[0]!.replicas).toBe(16);
      expect(() => loadExperiment(join(folder, 'none.yaml'))).toThrow(/no such file/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

it('has a JSON Schema that offers every setting, also in variants, and asks for none in a file that extends another', () => {
  const schema = jsonSchema() as {
    if: object;
    else: { required: string[]; properties: object };
    properties: Record<string, { items?: object }>;
    $defs: { variant: { properties: object; required: string[] } };
  };
  expect(schema.if).toEqual({ required: ['extends'] });
  expect(schema.else.required).toEqual(['name', 'replicas', 'data', 'model', 'batch', 'epochs', 'learningRate']);
  const { variant } = schema.$defs;
  expect(schema.properties.compare!.items).toEqual({ $ref: '#/$defs/variant' });
  expect(schema.properties.topology).toEqual({ $ref: '#/$defs/variant/properties/topology' });
  expect(variant.required).toEqual(['name']);
  const [names, all] = [Object.keys(variant.properties), Object.keys(schema.properties).sort()];
  expect(all).toEqual([...names, 'extends', 'compare', 'sweep'].sort());
  expect(Object.keys(schema.else.properties).sort()).toEqual(all);
  expect(JSON.stringify(variant.properties)).not.toContain('"required"');
});
