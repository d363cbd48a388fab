import { expect, it } from 'vitest';
import { gradients } from './gradient.ts';
import { add, conv2d, matmul, maximum, mean, mul, relu, softmaxCrossEntropy, sum } from './operations.ts';
import { print } from './print.ts';
import { f32, i32 } from './program.ts';
import { Trace, trace } from './trace.ts';

it('prints a program with its gradient', () => {
  const program = trace((t) => {
    const [x, weight, bias] = [t.input('x', f32(4, 3)), t.input('weight', f32(2, 3)), t.input('bias', f32(2))];
    const logits = matmul(relu(x), weight, { transposeB: true, bias });
    const loss = mean(softmaxCrossEntropy(logits, t.input('labels', i32(4))));
    const [dweight, dbias] = gradients(loss, [weight, bias]);
    return { loss, dweight: dweight!, dbias: dbias! };
  });
  expect(`\n${print(program)}\n`).toBe(`
%0: f32[4,3] = input x
%1: f32[2,3] = input weight
%2: f32[2] = input bias
%3: i32[4] = input labels
%4: f32[4,3] = relu %0
%5: f32[4,2] = matmul %4 %1 %2 transposeA=false transposeB=true
%6: f32[4], %7: f32[4,2] = softmaxCrossEntropy %5 %3
%8: f32[] = sum %6 axes=[0] keep=false
%9: f32[] = constant value=0.25 shape=[]
%10: f32[] = mul %8 %9
%11: f32[] = constant value=1 shape=[]
%12: f32[] = mul %11 %9
%13: f32[1] = reshape %12 shape=[1]
%14: f32[4] = broadcast %13 shape=[4]
%15: f32[4,2] = softmaxCrossEntropyGrad %14 %7 %3
%16: f32[2,3] = matmul %15 %4 transposeA=true transposeB=false
%17: f32[2] = sum %15 axes=[0] keep=false
output loss = %10
output dweight = %16
output dbias = %17
`);
});

it('makes equal nodes once and drops what no output needs', () => {
  const program = trace((t) => {
    const x = t.input('x', f32(2));
    mul(x, 3);
    return { y: add(relu(x), relu(x)) };
  });
  expect(program.nodes.map(({ op }) => op)).toEqual(['relu', 'add']);
});

it.each([
  [
    'matmul: inner sizes differ: [32,784] × [128,10]',
    (t: Trace) => matmul(t.input('a', f32(32, 784)), t.input('b', f32(128, 10))),
  ],
  ['add: shapes do not broadcast: [2,3] × [2]', (t: Trace) => add(t.input('a', f32(2, 3)), t.input('b', f32(2)))],
  [
    'conv2d: channels do not match in 1 groups: [1,3,8,8] × [4,2,3,3]',
    (t: Trace) => conv2d(t.input('x', f32(1, 3, 8, 8)), t.input('w', f32(4, 2, 3, 3))),
  ],
  [
    'conv2d: the window 9×9 is larger than the padded image: [1,3,6,6] × [4,3,9,9]',
    (t: Trace) => conv2d(t.input('x', f32(1, 3, 6, 6)), t.input('w', f32(4, 3, 9, 9)), { padding: 1 }),
  ],
  ['relu: input 0 must be float32, not int32: [2]', (t: Trace) => relu(t.input('x', i32(2)))],
  ['sum: no axes [2]: [2,3]', (t: Trace) => sum(t.input('x', f32(2, 3)), [2])],
  ['add: at least one operand must be a tensor, got 1 and 2', () => add(1, 2)],
  ['add: a tensor of another program', (t: Trace) => add(t.input('a', f32()), new Trace().input('b', f32()))],
  ['two inputs are named "x"', (t: Trace) => add(t.input('x', f32()), t.input('x', f32()))],
  ['input x: every size must be a whole number from 1: f32[0,2]', (t: Trace) => t.input('x', f32(0, 2))],
  [
    'maximum has no gradient: it has a kink; use relu',
    (t: Trace) => {
      const x = t.input('x', f32(3));
      return gradients(sum(maximum(x, 0)), [x])[0];
    },
  ],
  [
    'gradients: the loss must be a scalar, not [3]',
    (t: Trace) => {
      const x = t.input('x', f32(3));
      return gradients(x, [x])[0];
    },
  ],
])('refuses: %s', (message, build) => {
  expect(() => build(new Trace())).toThrow(message);
});

it('gives zeros where the loss does not depend', () => {
  const program = trace((t) => {
    const [x, y] = [t.input('x', f32(2)), t.input('y', f32(3))];
    return { dy: gradients(sum(x), [y])[0]! };
  });
  expect(print(program)).toContain('constant value=0 shape=[3]');
});
