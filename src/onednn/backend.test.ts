import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  add,
  batchNorm,
  conv2d,
  matmul,
  maxPool,
  mean,
  relu,
  reshape,
  softmaxCrossEntropy,
} from '../tensor/operations.ts';
import { f32, i32 } from '../tensor/program.ts';
import { trace } from '../tensor/trace.ts';
import { planArena } from './arena.ts';
import { onednn } from './backend.ts';
import { fuse } from './fuse.ts';
import { dialectOf, loadLibrary } from './library.ts';
import { lower } from './lowering.ts';
import { type Call, type Place, Recorder } from './recorder.ts';
import { version2 } from './v2.ts';
import { version3 } from './v3.ts';

const missing = await loadLibrary().then(
  () => undefined,
  (error: Error) => error.message,
);
const installed = describe.skipIf(missing !== undefined);
const reason = missing === undefined ? '' : ` (${missing})`;

const classifier = trace((t) => {
  const logits = matmul(t.input('x', f32(2, 3)), t.input('weight', f32(3, 4)));
  return { loss: mean(softmaxCrossEntropy(logits, reshape(t.input('labels', i32(2, 1)), [2]))) };
});
const buffers = () => ({
  x: Float32Array.of(1, 2, 3, 4, 5, 6),
  weight: new Float32Array(12).fill(0.5),
  labels: Int32Array.of(0, 3),
  loss: new Float32Array(1),
});

installed(`bad input${reason}`, () => {
  const overlapping = new Float32Array(7);
  it.each([
    ['x is f32[2,3] = 6 elements, got 5', { x: new Float32Array(5) }],
    ['x is f32[2,3], got memory of type int32', { x: new Int32Array(6) }],
    ['"y" is neither an input nor an output', { y: new Float32Array(1) }],
    ['the memory of loss overlaps that of x', { x: overlapping.subarray(0, 6), loss: overlapping.subarray(5, 6) }],
    ['softmaxCrossEntropy: labels must be from 0 to 3, but labels[1] is 4', { labels: Int32Array.of(0, 4) }],
  ])('%s', async (message, wrong) => {
    const executable = await onednn.compile(classifier);
    const run = async () => executable.bind({ ...buffers(), ...wrong } as never)();
    await expect(run()).rejects.toMatchObject({ name: 'UserError', message });
    await executable.close();
  });

  it('is memory that lacks or overlaps over several parts', async () => {
    const executable = await onednn.compile(classifier);
    const { x, weight, labels, loss } = buffers();
    expect(() => executable.bind({ x, labels }, { loss })).toThrow('nothing is bound to weight: f32[3,4]');
    const shared = new Float32Array(13);
    const parts = [{ x, labels }, { weight: shared.subarray(0, 12) }, { loss: shared.subarray(11, 12) }] as const;
    expect(() => executable.bind(...parts)).toThrow('the memory of loss overlaps that of weight');
    await executable.bind({ x, labels }, { weight }, { loss })();
    expect(loss[0]).toBeCloseTo(Math.log(4), 5);
    await executable.close();
  });

  it('is a closed executable', async () => {
    const executable = await onednn.compile(classifier);
    const run = executable.bind(buffers());
    await run();
    await executable.close();
    await executable.close();
    await expect(run()).rejects.toThrow('closed');
  });
});

installed(`memory${reason}`, () => {
  const twice = trace((t) => ({ y: add(relu(t.input('x', f32(3))), 1) }));

  it('is read and written in place, shared or not, another for every run', async () => {
    const executable = await onednn.compile(twice);
    for (const buffer of [new SharedArrayBuffer(36), new ArrayBuffer(36)]) {
      const row = new Float32Array(buffer as ArrayBuffer);
      row.set([9, 1, -2, 3, 9, 0, 0, 0, 9]);
      await executable.bind({ x: row.subarray(1, 4) }, { y: row.subarray(5, 8) })();
      expect([...row]).toEqual([9, 1, -2, 3, 9, 2, 1, 4, 9]);
    }
    await executable.close();
  });

  it('of an input that is passed through, and of one value under two names', async () => {
    const program = trace((t) => {
      const x = t.input('x', f32(2));
      const y = relu(x);
      return { same: x, y, again: y };
    });
    const memory = {
      x: Float32Array.of(-1, 2),
      same: new Float32Array(2),
      y: new Float32Array(2),
      again: new Float32Array(2),
    };
    const executable = await onednn.compile(program);
    await executable.bind(memory)();
    expect(memory).toMatchObject({
      same: Float32Array.of(-1, 2),
      y: Float32Array.of(0, 2),
      again: Float32Array.of(0, 2),
    });
    await executable.close();
  });

  it('stays where the library has its address, whatever is collected meanwhile', () => {
    const script = fileURLToPath(new URL('../../test/onednn/collect.ts', import.meta.url));
    const output = execFileSync(process.execPath, ['--expose-gc', '--import', 'tsx', script], { encoding: 'utf8' });
    expect(output.trim()).toBe('same');
  });
});

it('tells convolutions of one shape with and without bias apart', async (context) => {
  if (missing !== undefined) context.skip(missing);
  const program = trace((t) => {
    const [x, w] = [t.input('x', f32(1, 1, 2, 2)), t.input('w', f32(1, 1, 1, 1))];
    return { biased: conv2d(x, w, { bias: t.input('b', f32(1)) }), plain: conv2d(x, w) };
  });
  const [biased, plain] = [new Float32Array(4), new Float32Array(4)];
  const executable = await onednn.compile(program);
  const given = { x: Float32Array.of(1, 2, 3, 4), w: Float32Array.of(2), b: Float32Array.of(10) };
  await executable.bind({ ...given, biased, plain })();
  expect([[...biased], [...plain]]).toEqual([
    [12, 14, 16, 18],
    [2, 4, 6, 8],
  ]);
  await executable.close();
});

it('names the op that the library refuses', async (context) => {
  if (missing !== undefined) context.skip(missing);
  // Its pooling has no window beyond the image, which programs cannot ask for but other callers might.
  const program = trace((t) => ({ y: maxPool(t.input('x', f32(1, 1, 4, 4)), 2) }));
  const stretched = { ...program, types: [f32(1, 1, 4, 4), f32(1, 1, 9, 9)] };
  const library = await loadLibrary();
  const recorder = new Recorder(library);
  expect(() => lower(stretched, recorder, () => undefined as never)).toThrow(
    /^oneDNN cannot run maxPool\(f32\[1,1,4,4\]\): dnnl_pooling_forward_\w+: invalid arguments$/,
  );
  recorder.close();
});

it('says how many axes a tensor may have', async (context) => {
  if (missing !== undefined) context.skip(missing);
  const program = trace((t) => ({ y: relu(t.input('x', f32(...Array<number>(13).fill(1)))) }));
  await expect(onednn.compile(program)).rejects.toMatchObject({
    name: 'UserError',
    message: 'oneDNN knows tensors of at most 12 axes, not [1,1,1,1,1,1,1,1,1,1,1,1,1]',
  });
});

it('two threads give the same', async (context) => {
  if (missing !== undefined) context.skip(missing);
  const results: number[] = [];
  for (const threads of [1, 2]) {
    const memory = buffers();
    const executable = await onednn.compile(classifier, { threads });
    await executable.bind(memory)();
    await executable.close();
    results.push(memory.loss[0]!);
  }
  expect(results[1]).toBeCloseTo(results[0]!, 6);
});

it.each([
  ['a file that is not there', '/no/such/libdnnl.so', /DBENCH_ONEDNN=\/no\/such\/libdnnl\.so: /],
  ['another library', 'libm.so.6', /libm\.so\.6 is not oneDNN: it has no function dnnl_version/],
])('says what is wrong with %s', (_, path, message) => {
  const code = `import('./src/onednn/library.ts').then((l) => l.loadLibrary()).then(() => console.log('loaded'), (e) => console.log(e.name + ': ' + e.message))`;
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  const options = { cwd, encoding: 'utf8', env: { ...process.env, DBENCH_ONEDNN: path } } as const;
  const output = execFileSync(process.execPath, ['--import', 'tsx', '-e', code], options);
  expect(output).toMatch(/^UserError: /);
  expect(output).toMatch(message);
});

it.each([
  [version2, ['2.6.3', '2.7.0']],
  [version3, ['3.1.1', '3.7.2', '3.12.1', '3.20.0']],
  [undefined, ['2.2.4', '2.5.9', '2.10.0', '3.0.1', '4.1.0', '13.1.0']],
])('knows which versions it can speak to', (dialect, versions) => {
  for (const version of versions) expect([version, dialectOf(version)]).toEqual([version, dialect]);
});

it('tensors share memory unless they live at the same time', () => {
  const arena = (bytes: number): Place => ({ kind: 'arena', bytes });
  const [a, b, c] = [arena(1000), arena(1000), arena(500)] as [Place, Place, Place];
  const call = (...places: Place[]): Call => ({
    op: 'test',
    uses: places.map((place) => ({ format: { shape: [], description: 0 }, place })),
    script: () => () => {},
  });
  const { bytes, offsets } = planArena([call(a), call(a, c), call(b, c), call(b)]);
  expect(offsets.get(b)).toBe(offsets.get(a));
  expect(offsets.get(c)).toBe(1024);
  expect(bytes).toBe(1024 + 512);
});

describe('fusion', () => {
  it('joins batch norm and ReLU, but not where someone else reads the norm', () => {
    const norm = (both: boolean) =>
      trace((t) => {
        const { y } = batchNorm(t.input('x', f32(2, 3, 4, 4)), t.input('scale', f32(3)), t.input('shift', f32(3)));
        return both ? { r: relu(y), y } : { r: relu(y) };
      });
    expect(fuse(norm(false)).map(({ kind }) => kind)).toEqual(['normRelu']);
    expect(fuse(norm(true)).map(({ kind }) => kind)).toEqual(['node', 'node']);
  });
});
