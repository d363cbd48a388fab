import { sizeOf } from '../../base/shape.ts';
import type { Shape, Value } from '../../tensor/program.ts';
import type { Stored } from '../recorder.ts';
import type { Scope } from '../scope.ts';
import type { Rules } from './rule.ts';

/** [matrices, rows, columns] */
const matricesOf = (shape: Shape): [number, number, number] => [
  sizeOf(shape.slice(0, -2)),
  shape.at(-2)!,
  shape.at(-1)!,
];

function matrices(scope: Scope, value: Value, transposed: boolean): Stored {
  const { recorder } = scope;
  const [count, rows, columns] = matricesOf(scope.shape(value));
  const format = transposed
    ? recorder.formats.strided([count, columns, rows], [rows * columns, 1, columns])
    : recorder.formats.plain([count, rows, columns]);
  return recorder.as(scope.read(value), format);
}

/** Products of many matrices, and the softmax between them, which the kernels do for causal ones in half the time. */
export const attention: Rules<'batchMatmul' | 'softmax' | 'softmaxGrad'> = {
  batchMatmul: (scope, { inputs, outputs, attributes }) => {
    const { recorder } = scope;
    const [a, b, y] = [inputs[0]!, inputs[1]!, outputs[0]!];
    recorder.matmul(
      matrices(scope, a, attributes.transposeA),
      matrices(scope, b, attributes.transposeB),
      recorder.as(scope.target(y), recorder.formats.plain(matricesOf(scope.shape(y)))),
    );
  },
  softmax: (scope, { inputs, outputs, attributes }) => {
    const { recorder, kernel } = scope;
    const [x, y] = [scope.readArena(inputs[0]!), scope.arenaTarget(outputs[0]!)];
    const width = scope.shape(inputs[0]!).at(-1)!;
    const rows = scope.size(inputs[0]!) / width;
    recorder.script('softmax', [x, y], ({ offset }) => {
      const [from, to] = [offset(x), offset(y)];
      return () => kernel().softmax(from, to, rows, width, attributes.causal);
    });
  },
  softmaxGrad: (scope, { inputs, outputs, attributes }) => {
    const { recorder, kernel } = scope;
    const [dy, y] = [scope.readArena(inputs[0]!), scope.readArena(inputs[1]!)];
    const dx = scope.arenaTarget(outputs[0]!);
    const width = scope.shape(inputs[0]!).at(-1)!;
    const rows = scope.size(inputs[0]!) / width;
    recorder.script('softmaxGrad', [dy, y, dx], ({ offset }) => {
      const [gradient, given, to] = [offset(dy), offset(y), offset(dx)];
      return () => kernel().softmaxGrad(gradient, given, to, rows, width, attributes.causal);
    });
  },
};
