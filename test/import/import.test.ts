import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { sha256Of } from '../../src/base/content.ts';
import { Random } from '../../src/base/random.ts';
import { parse } from '../../src/base/schema.ts';
import { loadExperiment } from '../../src/experiment/experiment.ts';
import { importSummary } from '../../src/model/import/summary.ts';
import { inferStep } from '../../src/model/infer.ts';
import { initialise } from '../../src/model/layout.ts';
import { buildModel, modelSchema } from '../../src/model/models.ts';
import type { OnnxSettings } from '../../src/model/onnx.ts';
import { gradientStep } from '../../src/model/step.ts';
import { readOnnx } from '../../src/onnx/file.ts';
import { encode, type ModelProto, type NodeProto, type TensorProto } from '../../src/onnx/schema.ts';
import { taskOf } from '../../src/report/settings.ts';
import { machineContext } from '../../src/store/context.ts';
import { createRun, openRun } from '../../src/store/runs.ts';
import { interpret } from '../../src/tensor/reference.ts';
import { exportedFiles, mutated, tryImport } from './fuzz.ts';

const scratch = mkdtempSync(join(tmpdir(), 'dbench-import-'));
afterAll(() => rmSync(scratch, { recursive: true }));

function written(name: string, content: Uint8Array | string): string {
  const path = join(scratch, name);
  writeFileSync(path, content);
  return path;
}

const exported = (name: string) => written(`${name}.onnx`, exportedFiles.get(name)!);

const settingsOf = (settings: Record<string, unknown>) =>
  parse(modelSchema, { kind: 'onnx', ...settings }, 'model') as OnnxSettings;

const step = (settings: Record<string, unknown>, task = { shape: [3, 4, 4], classes: 10 }) =>
  gradientStep(buildModel(settingsOf(settings), task), 3);

const node = (op_type: string, input: string[], output: string[], more: Partial<NodeProto> = {}): NodeProto => ({
  name: '',
  op_type,
  domain: '',
  input,
  output,
  attribute: [],
  ...more,
});

const tensor = (name: string, dims: number[], values: readonly number[]): TensorProto => ({
  name,
  dims,
  data_type: 1,
  raw_data: new Uint8Array(Float32Array.from(values).buffer),
});
const places = (name: string, ...values: number[]): TensorProto => ({
  name,
  dims: [values.length],
  data_type: 7,
  raw_data: new Uint8Array(BigInt64Array.from(values, BigInt).buffer),
});

/** A file with a dense layer from [batch, 2] to three classes. */
function small(
  nodes: readonly NodeProto[],
  weight: Partial<TensorProto> & object = {},
  opset = 17,
  others: readonly TensorProto[] = [],
): Uint8Array {
  const raw_data = new Uint8Array(Float32Array.of(1, 2, 3, 4, 5, 6).buffer);
  const type = (dims: readonly number[]) => ({
    tensor_type: { elem_type: 1, shape: { dim: dims.map((dim_value) => ({ dim_value })) } },
  });
  const proto: ModelProto = {
    ir_version: 8,
    producer_name: 'test',
    opset_import: [{ domain: '', version: opset }],
    graph: {
      name: 'g',
      node: nodes,
      initializer: others.length > 0 ? others : [{ name: 'w', dims: [2, 3], data_type: 1, raw_data, ...weight }],
      input: [{ name: 'x', type: type([4, 2]) }],
      output: [{ name: 'y', type: type([4, 3]) }],
    },
  };
  return encode(proto);
}

/** An experiment with a model of one's own. */
const yaml = (model: string) =>
  `name: own
replicas: 2
data: { kind: shakespeare }
model: { kind: onnx, ${model} }
batch: 2
epochs: 1
topology: { kind: ring }
learningRate: { base: 1 }
`;

const dense = node('MatMul', ['x', 'w'], ['y'], { name: 'fc' });
const task = { shape: [2], classes: 3 };

it('an initial state of zeros that was written down for the batch of the file is one for any batch', () => {
  const dims = new Uint8Array(BigInt64Array.of(4n, 2n).buffer);
  const value = { name: 'value', type: 4, t: { name: '', dims: [2], data_type: 7, raw_data: dims } };
  const nodes = [
    node('Constant', [], ['sizes'], { attribute: [value] }),
    node('ConstantOfShape', ['sizes'], ['zeros']),
    node('Shape', ['x'], ['shape']),
    node('Expand', ['zeros', 'shape'], ['state']),
    node('Add', ['x', 'state'], ['z']),
    { ...dense, input: ['z', 'w'] },
  ];
  expect(() => step({ path: written('state.onnx', small(nodes)) }, task)).not.toThrow();
});

describe('what is computed of x = [0.123, −5]', () => {
  /** The logits of one sample: the results of these nodes, and 0. */
  const computed = (name: string, nodes: readonly NodeProto[], others: readonly TensorProto[]) => {
    const stored = [tensor('w', [2, 3], [1, 0, 0, 0, 1, 0]), ...others];
    const path = written(`${name}.onnx`, small([...nodes, { ...dense, input: ['z', 'w'] }], {}, 18, stored));
    const { program, params } = inferStep(buildModel(settingsOf({ path }), task), 1);
    const weights = params.map(
      ({ name, init }) => [`params/${name}`, init.kind === 'given' ? init.values : []] as const,
    );
    return [...interpret(program, { x: [0.123, -5], ...Object.fromEntries(weights) }).logits!].slice(0, 2);
  };
  const largest = 3.4028234663852886e38;

  it.each([
    ['wide bounds', [-1e30], [1e30], [0.123, -5]],
    ['the bounds of float32', [-largest], [largest], [0.123, -5]],
    ['infinite bounds', [Number.NEGATIVE_INFINITY], [Number.POSITIVE_INFINITY], [0.123, -5]],
    ['narrow bounds', [-1], [0.1], [0.1, -1]],
    ['no lower bound', [-largest], [-6], [-6, -6]],
  ])('Clip with %s', (name, low, high, wanted) => {
    const bounds = [tensor('low', [], low), tensor('high', [], high)];
    const found = computed(name, [node('Clip', ['x', 'low', 'high'], ['z'])], bounds);
    wanted.forEach((value, i) => {
      expect(found[i]).toBeCloseTo(value, 6);
    });
  });

  it('a reduction over an empty list of axes is one over all, unless the file says none', () => {
    const attribute = (i: number) =>
      [{ name: 'noop_with_empty_axes', type: 2, i }] as unknown as NodeProto['attribute'];
    const sum = (noop: number) => [
      node('ReduceSum', ['x', 'axes'], ['s'], { attribute: attribute(noop) }),
      node('Add', ['x', 's'], ['z']),
    ];
    const [all, none] = [0, 1].map((noop) => computed(`reduce-${noop}`, sum(noop), [places('axes')]));
    expect(all![1]).toBeCloseTo(-5 + (0.123 - 5), 6);
    expect(none![1]).toBeCloseTo(-10, 6);
  });
});

describe('weights', () => {
  it('are those of the file, in its order and by its names, or fresh ones', () => {
    const path = exported('import-weights');
    const { initializers } = readOnnx({ path });
    const { params } = step({ path });
    expect(params.map(({ name }) => name)).toEqual(
      ['1', '4', '6'].flatMap((layer) => [`${layer}.weight`, `${layer}.bias`]),
    );
    expect([...initialise(params, 1)]).toEqual(params.flatMap(({ name }) => [...initializers.get(name)!.data]));
    const fresh = initialise(step({ path, init: 'fresh' }).params, 1).subarray(0, 48 * 20);
    expect(Math.max(...fresh.map(Math.abs))).toBeCloseTo(1 / Math.sqrt(48), 2);
  });

  it('start as those of PyTorch: norms at 1, products by the inputs they sum over', () => {
    const { params } = step({ path: exported('import-gpt'), init: 'fresh' }, { shape: [], classes: 30 });
    const start = (name: string) => params.find((param) => param.name === `transformer.h.0.${name}`)!;
    expect(start('ln_1.weight')).toMatchObject({ kind: 'norm', init: { kind: 'constant', value: 1 } });
    expect(start('ln_1.bias')).toMatchObject({ kind: 'bias', init: { kind: 'constant', value: 0 } });
    expect(start('mlp.c_fc.weight')).toMatchObject({ shape: [64, 16], init: { kind: 'uniform', bound: 0.25 } });
    expect(start('mlp.c_proj.weight')).toMatchObject({ shape: [16, 64], init: { kind: 'uniform', bound: 0.125 } });
  });

  it('that are frozen stay out of the row', () => {
    const path = exported('import-weights');
    expect(step({ path, frozen: ['1.weight'] }).params.map(({ name }) => name)).not.toContain('1.weight');
  });

  const outside = (location: string, more: object = {}) => ({
    raw_data: new Uint8Array(),
    data_location: 1,
    external_data: Object.entries({ location, ...more }).map(([key, value]) => ({ key, value })),
  });

  it('may be in a file beside it', () => {
    const path = written('outside.onnx', small([dense], outside('w.data', { offset: '4', length: '24' })));
    const dataPath = written('w.data', new Uint8Array(Float32Array.of(9, 1, 2, 3, 4, 5, 6).buffer));
    expect([...initialise(step({ path, dataPath }, task).params, 1)]).toEqual([1, 2, 3, 4, 5, 6]);
    expect(() => step({ path }, task)).toThrow(/it keeps data in w.data/);
    const dataSha256 = '0'.repeat(64);
    expect(() => step({ path, dataPath, dataSha256 }, task)).toThrow(/w.data has changed/);
  });

  it('stay with a run whose file is gone', () => {
    const path = written('gone.onnx', small([dense], outside('gone.data', { offset: '4', length: '24' })));
    const dataPath = written('gone.data', new Uint8Array(Float32Array.of(9, 1, 2, 3, 4, 5, 6).buffer));
    const [experiment] = loadExperiment(written('gone.yaml', yaml(`path: gone.onnx, dataPath: gone.data`)), []);
    const root = join(scratch, 'runs');
    const context = machineContext(1, { name: 'onnx', version: '1.2.3' });
    const { id } = createRun(root, experiment!, context);
    const second = createRun(root, experiment!, context);
    for (const original of [path, dataPath]) rmSync(original);
    const { model } = openRun(root, id).experiment;
    // Each has its own copy; what they learn is one task.
    expect(taskOf(second.experiment)).toEqual(taskOf(openRun(root, id).experiment));
    expect([...initialise(gradientStep(buildModel(model, task), 3).params, 1)]).toEqual([1, 2, 3, 4, 5, 6]);
    expect(() => createRun(root, experiment!, context)).toThrow(/cannot read the file .*gone.onnx: no such file/);
  });

  it.each([
    ['../w.data', {}, /it keeps data in "..\/w.data", which is no name of a file beside it/],
    ['/etc/passwd', {}, /no name of a file beside it/],
    ['link.data', {}, /link.data is no plain file/],
    ['short.data', {}, /short.data has 8 bytes, not 24/],
    ['short.data', { offset: '-4' }, /"-4" is no offset/],
    ['short.data', { length: '4' }, /w needs 24 bytes, but its data are 4/],
  ])('are not read from %s %o', (location, more, message) => {
    const folder = join(scratch, `outside-${message}`.replace(/[^a-z]/g, ''));
    mkdirSync(folder, { recursive: true });
    const path = join(folder, 'model.onnx');
    writeFileSync(path, small([dense], outside(location, more)));
    writeFileSync(join(folder, 'short.data'), new Uint8Array(8));
    rmSync(join(folder, 'link.data'), { force: true });
    symlinkSync(join(folder, 'short.data'), join(folder, 'link.data'));
    expect(() => step({ path, dataPath: join(folder, location) }, task)).toThrow(message);
  });
});

describe('mistakes', () => {
  it.each([
    ['text', 'hello', /is no ONNX file: .*/],
    ['nothing', '', /there is no graph in it/],
    ['an old opset', small([dense], {}, 11), /it uses opset 11/],
    [
      'an unknown op',
      small([node('GRU', ['x', 'w'], ['y'], { name: 'rnn' })]),
      /not supported: GRU \(first in node rnn\)/,
    ],
    ['another domain', small([{ ...dense, domain: 'com.acme' }]), /not supported: com.acme:MatMul/],
    ['a softmax at the end', small([{ ...dense, output: ['z'] }, node('Softmax', ['z'], ['y'])]), /ends in a softmax/],
    [
      'a missing value',
      small([{ ...dense, input: ['x', 'v'] }]),
      /node fc \(MatMul\) .*: nothing has computed v before/,
    ],
    [
      'shapes that do not fit',
      small([dense], { dims: [3, 2] }),
      /node fc \(MatMul\) cannot be imported: .*inner sizes differ/,
    ],
    ['too few bytes', small([dense], { dims: [2, 4] }), /w has the shape \[2,4\], but 24 bytes/],
    ['huge sizes', small([dense], { dims: [2 ** 40, 2 ** 40] }), /at most \d+ are read/],
  ])('%s', (name, content, message) => {
    const path = written(`${name}.onnx`, content);
    expect(() => step({ path }, task)).toThrow(message);
  });

  it.each([
    ['Add', 1],
    ['Unsqueeze', 1],
    ['Reshape', 1],
    ['Gather', 1],
    ['Expand', 1],
    ['Where', 2],
    ['Slice', 2],
    ['Range', 2],
    ['Less', 1],
    ['Mod', 1],
  ])('%s of %i constants', (op, count) => {
    const one = places('one', 1);
    const path = written(`few-${op}.onnx`, small([node(op, Array(count).fill('one'), ['k']), dense], {}, 17, [one]));
    expect(() => step({ path }, task)).toThrow(`cannot be imported: input ${count} is missing`);
  });

  it('a bound that is no number', () => {
    const nodes = [node('Clip', ['x', 'low'], ['z']), { ...dense, input: ['z', 'w'] }];
    const stored = [tensor('w', [2, 3], [1, 2, 3, 4, 5, 6]), tensor('low', [0], [])];
    const path = written('bound.onnx', small(nodes, {}, 17, stored));
    expect(() => step({ path }, task)).toThrow('a bound that is not one number');
  });

  it('a log-softmax that is not the end of a classification', () => {
    const end = node('LogSoftmax', ['z'], ['y']);
    const path = written('end.onnx', small([{ ...dense, output: ['z'] }, end]));
    expect(() => step({ path }, task)).not.toThrow();
    const regression = { ...task, kind: 'regression' as const };
    expect(() => inferStep(buildModel(settingsOf({ path }), regression), 1)).toThrow(
      /ends in a log-softmax, which is for classification; this is regression/,
    );
    const within = [node('LogSoftmax', ['x'], ['z']), { ...dense, input: ['z', 'w'] }];
    expect(() => step({ path: written('within.onnx', small(within)) }, task)).toThrow(/a log-softmax before the end/);
  });

  it('a compressed file', () => {
    expect(() => step({ path: written('model.onnx.gz', small([dense])) }, task)).toThrow(/is compressed/);
  });

  it('data that do not fit', () => {
    const path = exported('import-mlp');
    expect(() => step({ path }, { shape: [3, 32, 32], classes: 10 })).toThrow(
      /takes samples of \[3,4,4\], but the data are samples of \[3,32,32\]/,
    );
    expect(() => step({ path }, { shape: [3, 4, 4], classes: 100 })).toThrow(
      /gives 10 logits, but the data have 100 classes/,
    );
    expect(() => step({ path }, { shape: [], classes: 10 })).toThrow(
      /takes samples of \[3,4,4\], but the data are text/,
    );
    expect(() => step({ path, sha256: '0'.repeat(64) })).toThrow(/has changed: its SHA-256 is/);
  });
});

describe('what is taken away with a model', () => {
  const float = (name: string, ...dims: number[]) => {
    const count = dims.reduce((a, b) => a * b, 1);
    return { name, dims, data_type: 1, raw_data: new Uint8Array(new Float32Array(count).fill(1).buffer) };
  };
  const whole = { name: 'places', dims: [2], data_type: 7, raw_data: new Uint8Array(BigInt64Array.of(1n, 0n).buffer) };
  /** As EVAL mode writes two norms with the same scale; a gate of one number; columns put in another order; a head that shares its table. */
  const file = () => {
    const nodes = [
      node('Identity', ['n1.weight'], ['n2.weight'], { name: 'Identity_0' }),
      node('Mul', ['x', 'n1.weight'], ['a'], { name: '/n1/Mul' }),
      node('Mul', ['a', 'n2.weight'], ['b'], { name: '/n2/Mul' }),
      node('Mul', ['b', 'gate'], ['c'], { name: '/Mul' }),
      node('Gather', ['c', 'places'], ['d'], {
        name: '/Gather',
        attribute: [{ name: 'axis', type: 2, i: 1 }] as unknown as NodeProto['attribute'],
      }),
      node('MatMul', ['d', 'table.weight'], ['e'], { name: '/table/MatMul' }),
      node('MatMul', ['e', 'square.weight'], ['f'], { name: '/body/square_1/MatMul' }),
      node('MatMul', ['f', 'square.weight'], ['y'], { name: '/body/head/MatMul' }),
    ];
    const stored = [
      float('n1.weight', 2),
      float('gate'),
      whole,
      float('table.weight', 2, 3),
      float('square.weight', 3, 3),
    ];
    return written('taken.onnx', small(nodes, {}, 18, stored));
  };

  it('tensors that were written once are trained apart, and so are single numbers', () => {
    const { params } = step({ path: file() }, task);
    expect(params.map(({ name, shape }) => `${name} [${shape}]`)).toEqual([
      'n1.weight [2]',
      'gate []',
      'table.weight [2,3]',
      'square.weight [3,3]',
      'n2.weight [2]',
    ]);
  });

  it('tied weights have both their names, and what is not trained is there as it is', () => {
    const model = buildModel(settingsOf({ path: file(), frozen: ['n2.weight'] }), task);
    expect(model.shared).toEqual({ 'body.head.weight': 'square.weight' });
    const kept = [...model.kept!()].map(([name, { kind, data }]) => [name, kind, [...data]]);
    expect(kept).toEqual([
      ['places', 'int', [1, 0]],
      ['n2.weight', 'float', [1, 1]],
    ]);
  });
});

it('the content of the file is part of the run', () => {
  const path = exported('import-gpt');
  const [run] = loadExperiment(written('own.yaml', yaml(`path: ${path}`)), []);
  expect(run!.model).toMatchObject({ path, sha256: sha256Of(exportedFiles.get('import-gpt')!) });
});

it('says what is in a file', () => {
  const summary = importSummary(settingsOf({ path: exported('import-densenet') }));
  expect(summary).toMatchObject({ producer: 'pytorch 1.13.0', opset: 14, unsupported: [], problem: undefined });
  expect(summary.ops).toContainEqual({ op: 'BatchNormalization', count: 11 });
  expect(summary.notes.join()).toMatch(/Batch norms \(11\) and dropouts \(0\) act as in training/);
  const path = written('gru.onnx', small([node('GRU', ['x', 'w'], ['y'], { name: 'rnn' })]));
  expect(importSummary(settingsOf({ path })).unsupported).toEqual([{ op: 'GRU', count: 1, nodes: ['rnn'] }]);
});

it('mutated files are imported or refused, and nothing else happens', () => {
  const files = ['import-mlp', 'import-vgg', 'import-lstm', 'import-gpt-static'].map(
    (name) => exportedFiles.get(name)!,
  );
  let imported = 0;
  for (let i = 0; i < 2000; i++) {
    const random = new Random(7, 'test', i);
    if (tryImport(mutated(files[i % files.length]!, random))) imported++;
  }
  expect(imported).toBeGreaterThan(100);
  expect(imported).toBeLessThan(1900);
});
