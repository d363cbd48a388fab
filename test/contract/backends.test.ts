import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { sizeOf } from '../../src/base/shape.ts';
import type { Backend, Numbers } from '../../src/tensor/backend.ts';
import { gradientRules, gradients } from '../../src/tensor/gradient.ts';
import { add, mul, sum } from '../../src/tensor/operations.ts';
import { f32, i32, type OpKind, type Program } from '../../src/tensor/program.ts';
import { interpret } from '../../src/tensor/reference.ts';
import { type Tensor, Trace } from '../../src/tensor/trace.ts';
import { allBackends } from '../backends.ts';
import { cases, type Make } from './ops.ts';

/** Every op of every backend, forward and backward, against a naive float64 reference and finite differences. */

type Data = Record<string, Numbers>;

/** A trace with inputs that draw their own values. */
function drawing(): {
  readonly trace: Trace;
  readonly data: Data;
  readonly floats: Map<string, Tensor>;
  readonly make: Make;
} {
  const random = new Random(1, 'test');
  const trace = new Trace();
  const data: Data = {};
  const floats = new Map<string, Tensor>();
  const name = () => `x${Object.keys(data).length}`;
  const make: Make = {
    float(shape, low = -1, high = 1) {
      const [label, tensor] = [name(), trace.input(name(), f32(...shape))];
      data[label] = Float32Array.from({ length: sizeOf(shape) }, () => low + (high - low) * random.uniform());
      floats.set(label, tensor);
      return tensor;
    },
    index(shape, bound) {
      const tensor = trace.input(name(), i32(...shape));
      data[name()] = Int32Array.from({ length: sizeOf(shape) }, () => random.below(bound));
      return tensor;
    },
  };
  return { trace, data, floats, make };
}

async function execute(backend: Backend, program: Program, data: Data): Promise<Data> {
  const executable = await backend.compile(program);
  const outputs = program.outputs.map(({ name, value }) => {
    return [name, new Float32Array(sizeOf(program.types[value]!.shape)).fill(Number.NaN)] as const;
  });
  await executable.bind({ ...data, ...Object.fromEntries(outputs) })();
  await executable.close();
  return Object.fromEntries(outputs);
}

/** The largest difference, relative to the largest element. */
function difference(given: ArrayLike<number>, wanted: Float64Array): number {
  const largest = wanted.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-6);
  return wanted.reduce((most, value, i) => {
    const apart = Math.abs(given[i]! - value) / largest;
    return Math.max(most, apart);
  }, 0);
}

const named = (prefix: string, tensors: readonly Tensor[]) =>
  Object.fromEntries(tensors.map((tensor, i) => [`${prefix}${i}`, tensor]));

async function compare(backend: Backend, program: Program, data: Data): Promise<Record<string, number>> {
  const wanted = interpret(program, data);
  const given = await execute(backend, program, data);
  return Object.fromEntries(Object.entries(wanted).map(([name, values]) => [name, difference(given[name]!, values)]));
}

function expectSmall(differences: Record<string, number>, bound: number): void {
  const wrong = Object.entries(differences).filter(([, apart]) => !(apart < bound));
  expect(Object.fromEntries(wrong)).toEqual({});
}

/** Of an input: enough elements to see every mistake, spread over all of it. */
const probed = (size: number) =>
  Array.from({ length: Math.min(size, 30) }, (_, i) => Math.floor((i * size) / Math.min(size, 30)));

/** Central differences in float64 of `loss` by some elements of every input. */
function finiteDifferences(program: Program, data: Data, inputs: readonly string[]): Float64Array[] {
  const doubles = Object.fromEntries(Object.entries(data).map(([name, values]) => [name, Float64Array.from(values)]));
  const lossAt = () => interpret(program, doubles).loss![0]!;
  const step = 1e-5;
  return inputs.map((name) =>
    Float64Array.from(probed(doubles[name]!.length), (i) => {
      const value = doubles[name]![i]!;
      doubles[name]![i] = value + step;
      const above = lossAt();
      doubles[name]![i] = value - step;
      const below = lossAt();
      doubles[name]![i] = value;
      return (above - below) / (2 * step);
    }),
  );
}

for (const op of Object.keys(cases) as OpKind[])
  describe(op, () => {
    it('has cases that use it', () => {
      expect(Object.keys(cases[op])).not.toEqual([]);
      for (const { outputs } of Object.values(cases[op])) {
        const { trace, make } = drawing();
        const program = trace.program(named('y', outputs(make)));
        expect(program.nodes.map((node) => node.op)).toContain(op);
      }
    });

    for (const [label, { outputs, differentiable }] of Object.entries(cases[op])) {
      const hasGradient = typeof gradientRules[op] !== 'string' && op !== 'constant';

      const backward = () => {
        const { trace, data, floats, make } = drawing();
        const results = outputs(make);
        const inputs = new Map(floats);
        const terms = results.slice(0, differentiable ?? results.length).map((y) => sum(mul(y, make.float(y.shape))));
        const loss = terms.reduce((left, right) => add(left, right));
        return { trace, data, inputs: [...inputs.keys()], loss, gradients: gradients(loss, [...inputs.values()]) };
      };

      if (hasGradient)
        it(`${label}: the gradient is the finite difference`, () => {
          const { trace, data, inputs, loss, gradients } = backward();
          const wanted = finiteDifferences(trace.program({ loss }), data, inputs);
          const given = interpret(trace.program(named('d', gradients)), data);
          const apart = wanted.map((values, i) => {
            const all = given[`d${i}`]!;
            return [
              inputs[i],
              difference(
                probed(all.length).map((at) => all[at]!),
                values,
              ),
            ];
          });
          expectSmall(Object.fromEntries(apart), 1e-7);
        });

      for (const { backend, title, skip } of allBackends) {
        it.skipIf(skip)(`${label}: ${title} forward`, async () => {
          const { trace, data, make } = drawing();
          expectSmall(await compare(backend, trace.program(named('y', outputs(make))), data), 3e-6);
        });
        if (hasGradient)
          it.skipIf(skip)(`${label}: ${title} backward`, async () => {
            const { trace, data, gradients } = backward();
            expectSmall(await compare(backend, trace.program(named('d', gradients)), data), 1e-5);
          });
      }
    }
  });
