import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { add, batchNorm, conv2d, maxPool, relu } from '../tensor/operations.ts';
import { f32 } from '../tensor/program.ts';
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
