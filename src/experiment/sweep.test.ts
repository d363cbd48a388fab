import { describe, expect, it } from 'vitest';
import { UserError } from '../base/error.ts';
import { plan, resolve } from './experiment.ts';
import { jsonSchema } from './schema.ts';
import { pointsOf } from './sweep.ts';

const minimal = {
  name: 'small',
  replicas: 8,
  data: { kind: 'mnist' },
  model: { kind: 'mlp', hidden: [16] },
  batch: 4,
  epochs: 2,
  learningRate: { base: 0.1 },
};

function problems(data: unknown): string[] {
  try {
    resolve(data, 'test');
  } catch (error) {
    if (error instanceof UserError) return error.message.split('\n');
    throw error;
  }
  return [];
}

describe('a sweep', () => {
  it('is the grid of all values; the path that is named first changes last', () => {
    expect(pointsOf({ seed: [1, 2], 'a.b': ['x', 'y', 'z'] }).map((point) => point.map(([, value]) => value))).toEqual([
      [1, 'x'],
      [1, 'y'],
      [1, 'z'],
      [2, 'x'],
      [2, 'y'],
      [2, 'z'],
    ]);
    expect(pointsOf({})).toEqual([[]]);
  });

  it('runs every variant at every point', () => {
    const planned = plan(
      {
        ...minimal,
        compare: [{ name: 'ring' }, { name: 'full', topology: { kind: 'complete' } }],
        sweep: { seed: [3, 4], replicas: [8, 16], 'learningRate.base': [0.5], 'model.hidden[0]': [4] },
      },
      'test',
    );
    expect(planned.map(({ experiment: run }) => [run.name, run.topology.kind, run.seed, run.replicas])).toEqual([
      ['ring', 'ring', 3, 8],
      ['full', 'complete', 3, 8],
      ['ring', 'ring', 3, 16],
      ['full', 'complete', 3, 16],
      ['ring', 'ring', 4, 8],
      ['full', 'complete', 4, 8],
      ['ring', 'ring', 4, 16],
      ['full', 'complete', 4, 16],
    ]);
    expect(planned[2]!.point).toEqual([
      ['seed', 3],
      ['replicas', 16],
      ['learningRate.base', 0.5],
      ['model.hidden[0]', 4],
    ]);
    for (const { experiment } of planned) {
      expect(experiment).toMatchObject({ learningRate: { base: 0.5 }, model: { hidden: [4] } });
      expect(experiment).not.toHaveProperty('sweep');
    }
  });

  it('holds over what a variant sets, and another kind drops the settings of the old one', () => {
    const data = { ...minimal, compare: [{ name: 'a', batch: 2, topology: { kind: 'lattice', k: 4 } }] };
    const [run] = resolve({ ...data, sweep: { batch: [32], 'topology.kind': ['torus'] } }, 'test');
    expect(run).toMatchObject({ batch: 32, topology: { kind: 'torus' } });
    expect(run!.topology).not.toHaveProperty('k');
  });

  it('needs no variants, and Ada takes what neighbours there are', () => {
    const ada = { kind: 'ada', k0: 32, kEnd: 8 };
    const runs = resolve({ ...minimal, topology: ada, sweep: { replicas: [8, 96] } }, 'test');
    expect(runs.map(({ name, replicas }) => [name, replicas])).toEqual([
      ['small', 8],
      ['small', 96],
    ]);
  });

  it('is checked at every point; what holds for all variants, or at several points, is told once', () => {
    const compare = [{ name: 'grid', topology: { kind: 'torus' } }, { name: 'ring' }];
    expect(problems({ ...minimal, compare, sweep: { seed: [1, 2], replicas: [8, 7, 0] } })).toEqual([
      'test: 2 problems',
      expect.stringMatching(
        /^ {2}- sweep \(seed=1 replicas=7\): compare\[0\] \(grid\): topology: torus\(n=7\): n is prime/,
      ),
      '  - sweep (seed=1 replicas=0): replicas: must be a whole number from 1 to 20000, got 0',
    ]);
    expect(problems({ ...minimal, sweep: { 'learningRate.bse': [1, 2] } })).toEqual([
      'test: sweep (learningRate.bse=1): learningRate: unknown setting "bse"; did you mean "base"?',
    ]);
    expect(problems({ ...minimal, sweep: { 'model.hidden[1]': [1] } })).toEqual([
      'test: sweep (model.hidden[1]=1): model.hidden[1]: there is no item 1, the list has 1, counted from 0',
    ]);
  });

  it.each([
    ['nothing to sweep', {}, 'test: sweep: is empty; name settings and the values to try, as in { seed: [1, 2, 3] }'],
    ['a number', 3, 'test: sweep: must be a group of settings, got 3'],
    ['a value that is no list', { seed: 3 }, 'test: sweep.seed: must be a list of values, at least one, got 3'],
    ['an empty list', { seed: [] }, 'test: sweep.seed: must be a list of values, at least one, got []'],
    ['a value twice', { seed: [1, 2, 1] }, 'test: sweep.seed: lists the value 1 twice'],
    ['names', { name: ['a'] }, 'test: sweep.name: cannot be swept; list variants under compare instead'],
    [
      'no path',
      { 'a..b': [1] },
      'test: sweep.a..b: is not the path of a setting, such as learningRate.base or model.hidden[0]',
    ],
    [
      'too much',
      { seed: Array.from({ length: 101 }, (_, i) => i), batch: Array.from({ length: 100 }, (_, i) => i + 1) },
      'test: sweep: 10,100 runs are too many; give fewer values, for at most 10,000 runs',
    ],
  ])('refuses %s', (_, sweep, message) => {
    expect(problems({ ...minimal, sweep })).toEqual([message]);
  });

  it('is told of together with the problems of the rest', () => {
    expect(problems({ ...minimal, epochs: 0, sweep: { seed: [] }, compare: [{ name: 'a', batch: 0 }] })).toEqual([
      'test: 3 problems',
      '  - epochs: must be a whole number from 1 to 1000000, got 0',
      '  - sweep.seed: must be a list of values, at least one, got []',
      '  - compare[0] (a): batch: must be a whole number from 1, got 0',
    ]);
  });

  it('is in the JSON Schema of a file, and in no variant', () => {
    const { properties, $defs } = jsonSchema() as unknown as {
      properties: { sweep: object };
      $defs: { variant: { properties: object } };
    };
    expect(properties.sweep).toMatchObject({ type: 'object', additionalProperties: { type: 'array', minItems: 1 } });
    expect($defs.variant.properties).not.toHaveProperty('sweep');
  });
});
