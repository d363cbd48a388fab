import type { Tuple } from '../../base/tuple.ts';
import type { Node, Value } from '../../tensor/program.ts';
import type { Format } from '../format.ts';
import type { Described, PostOp, Stored } from '../recorder.ts';
import type { Scope } from '../scope.ts';
import type { Rules } from './rule.ts';

/**
 * An LSTM layer as matrix products: one for the inputs of all time steps, one per time step for the hidden state, whose weight is brought
 * into the product's own format once. Gates are [input, forget, cell, output] side by side. All of them go through one sigmoid,
 * the third as tanh x = 2·sigmoid(2x) − 1; the little that is left is a kernel's.
 */

interface Sizes {
  readonly time: number;
  readonly batch: number;
  readonly width: number;
  readonly hidden: number;
}

function sizesOf(scope: Scope, x: Value, h0: Value): Sizes {
  const [time, batch, width] = scope.shape(x) as [number, number, number];
  return { time, batch, width, hidden: scope.shape(h0)[1]! };
}

/** The product of every time step, and its weight in the format it wants; in that of `plain` if it has no order of its own. */
function recurrent(
  scope: Scope,
  weight: Stored,
  [src, plain]: readonly [Format, Format],
  accumulate: boolean,
): { readonly described: Described; readonly weights: Stored } {
  const { recorder } = scope;
  const { formats } = recorder;
  const dst = formats.plain([src.shape[0]!, plain.shape[1]!]);
  const posts: PostOp[] = accumulate ? [{ kind: 'sum' }] : [];
  const describe = (format: Format) => recorder.describe('matmul', { src, weights: format, dst }, { posts });
  const wanted = recorder.wanted(describe(formats.any(plain.shape)), 'weights');
  const weights = recorder.arena(formats.isPlain(wanted) ? plain : wanted);
  recorder.copy(weight, weights);
  return { described: describe(weights.format), weights };
}

function forward(scope: Scope, { inputs, outputs }: Node<'lstm'>): void {
  const { recorder, kernel } = scope;
  const { formats } = recorder;
  const [x, h0, c0, weightInput, weightHidden, biasInput, biasHidden] = inputs as Tuple<Value, 7>;
  const { time, batch, width, hidden } = sizesOf(scope, x, h0);
  const wide = 4 * hidden;
  const [firstHidden, firstCells] = [scope.readArena(h0), scope.readArena(c0)];
  const y = scope.arenaTarget(outputs[0]!);
  const gates = scope.arenaTarget(outputs[3]!);
  const cells = scope.arenaTarget(outputs[4]!);
  const tanhCells = recorder.plain([batch, hidden]);

  const bias = recorder.plain([wide]);
  recorder.binary('add', scope.read(biasInput), scope.read(biasHidden), bias);
  recorder.matmul(
    recorder.as(scope.read(x), formats.plain([time * batch, width])),
    recorder.as(scope.read(weightInput), formats.strided([width, wide], [1, width])),
    recorder.as(gates, formats.plain([time * batch, wide])),
    recorder.as(bias, formats.plain([1, wide])),
  );
  const transposed = formats.strided([hidden, wide], [1, hidden]);
  const { described, weights } = recurrent(
    scope,
    recorder.as(scope.read(weightHidden), transposed),
    [formats.plain([batch, hidden]), formats.strided([hidden, wide], [scope.rowStride(wide), 1])],
    true,
  );
  const narrowAt = (stored: Stored, t: number) =>
    recorder.from(stored, t * batch * hidden, formats.plain([batch, hidden]));
  for (let t = 0; t < time; t++) {
    const gatesHere = recorder.from(gates, t * batch * wide, formats.plain([batch, wide]));
    const cellsHere = narrowAt(cells, t);
    const yHere = narrowAt(y, t);
    const before = t === 0 ? firstCells : narrowAt(cells, t - 1);
    recorder.execute('lstm', described, {
      src: t === 0 ? firstHidden : narrowAt(y, t - 1),
      weights,
      dst: gatesHere,
    });
    recorder.script('lstm', [gatesHere], ({ offset }) => {
      const at = offset(gatesHere);
      return () => kernel().doubleCells(at, batch, hidden);
    });
    const flat = recorder.as(gatesHere, formats.plain([batch * wide]));
    recorder.activation('sigmoid', flat, flat);
    recorder.script('lstm', [gatesHere, before, cellsHere], ({ offset }) => {
      const [at, from, to] = [offset(gatesHere), offset(before), offset(cellsHere)];
      return () => kernel().lstmCell(at, from, to, batch, hidden);
    });
    recorder.activation('tanh', cellsHere, tanhCells);
    recorder.script('lstm', [gatesHere, tanhCells, yHere], ({ offset }) => {
      const [at, from, to] = [offset(gatesHere), offset(tanhCells), offset(yHere)];
      return () => kernel().lstmOutput(at, from, to, batch, hidden);
    });
  }
  scope.define(outputs[1]!, narrowAt(y, time - 1));
  scope.define(outputs[2]!, narrowAt(cells, time - 1));
}

function backward(scope: Scope, { inputs, outputs }: Node<'lstmGrad'>): void {
  const { recorder, kernel } = scope;
  const { formats } = recorder;
  const [dy, dhLast, dcLast, x, h0, c0, weightInput, weightHidden, y, gates, cells] =
    inputs as readonly Value[] as Tuple<Value, 11>;
  const { time, batch, width, hidden } = sizesOf(scope, x, h0);
  const [wide, steps] = [4 * hidden, time * batch];
  const state = formats.plain([batch, hidden]);
  const dyStored = scope.readArena(dy);
  const gatesStored = scope.readArena(gates);
  const cellsStored = scope.readArena(cells);
  const firstCells = scope.readArena(c0);
  const [dh, dc] = [recorder.arena(state), recorder.arena(state)];
  recorder.copy(scope.read(dhLast), dh);
  recorder.copy(scope.read(dcLast), dc);
  const flat = formats.plain([steps * hidden]);
  const tanhCells = recorder.arena(flat);
  recorder.activation('tanh', recorder.as(cellsStored, flat), tanhCells);

  const stride = scope.rowStride(wide);
  const gateRows = (rows: number) => formats.strided([rows, wide], [stride, 1]);
  const [dgates, stepGates] = [recorder.arena(gateRows(steps)), gateRows(batch)];
  const plain = formats.plain([wide, hidden]);
  const { described, weights } = recurrent(scope, scope.read(weightHidden), [stepGates, plain], false);
  const at = (stored: Stored, t: number, columns: number, format: Format) =>
    recorder.from(stored, t * batch * columns, format);
  for (let t = time - 1; t >= 0; t--) {
    const dgatesHere = at(dgates, t, stride, stepGates);
    const parts = [
      at(dyStored, t, hidden, state),
      dh,
      dc,
      at(gatesStored, t, wide, formats.plain([batch, wide])),
      at(tanhCells, t, hidden, state),
      t === 0 ? firstCells : at(cellsStored, t - 1, hidden, state),
      dgatesHere,
    ] as const;
    recorder.script('lstmGrad', parts, ({ offset }) => {
      const [dyAt, dhAt, dcAt, gatesAt, tanhAt, beforeAt, dgatesAt] = parts.map(offset) as readonly number[] as Tuple<
        number,
        7
      >;
      return () => kernel().lstmCellGrad(dyAt, dhAt, dcAt, gatesAt, tanhAt, beforeAt, dgatesAt, batch, hidden, stride);
    });
    recorder.execute('lstmGrad', described, { src: dgatesHere, weights, dst: dh });
  }

  const transposed = (stored: Stored, rows: number) => recorder.as(stored, formats.strided([wide, rows], [1, stride]));
  const dx = recorder.as(scope.target(outputs[0]!), formats.plain([steps, width]));
  recorder.matmul(dgates, scope.read(weightInput), dx);
  scope.define(outputs[1]!, dh);
  scope.define(outputs[2]!, dc);
  const inputRows = recorder.as(scope.read(x), formats.plain([steps, width]));
  recorder.matmul(transposed(dgates, steps), inputRows, scope.target(outputs[3]!));
  const dweightHidden = scope.target(outputs[4]!);
  recorder.matmul(transposed(dgates, batch), scope.read(h0), dweightHidden);
  if (time > 1) {
    const later = at(dgates, 1, stride, gateRows(steps - batch));
    const hiddenRows = recorder.as(scope.read(y), formats.plain([steps - batch, hidden]));
    recorder.matmul(transposed(later, steps - batch), hiddenRows, dweightHidden, undefined, [{ kind: 'sum' }]);
  }
  const dbias = recorder.as(scope.target(outputs[5]!), formats.plain([1, wide]));
  recorder.matmul(recorder.constant([1, steps], 1), dgates, dbias);
}

export const recurrentRules: Rules<'lstm' | 'lstmGrad'> = { lstm: forward, lstmGrad: backward };
