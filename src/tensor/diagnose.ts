import { sizeOf } from '../base/shape.ts';
import type { Backend, Buffers, Numbers } from './backend.ts';
import { printType } from './print.ts';
import type { Node, Program, Value } from './program.ts';

/**
 * Where a NaN or an infinity first appears: in an input, or in the result of an op; undefined when there is none. Runs the
 * program once more with every value kept, so it is for the moment after a loss came out wrong.
 */
export async function firstNonFinite(
  backend: Backend,
  program: Program,
  buffers: Buffers,
): Promise<string | undefined> {
  for (const { name, value } of program.inputs) {
    const at = nonFinite(buffers[name]!);
    if (at >= 0) return `input ${name}: ${printType(program.types[value]!)} holds ${buffers[name]![at]} at ${at}`;
  }
  const values = program.nodes
    .flatMap(({ outputs }) => outputs)
    .filter((value) => program.types[value]!.dtype === 'float32');
  const label = (value: Value) => `%${value}`;
  const watched: Program = { ...program, outputs: values.map((value) => ({ name: label(value), value })) };
  const results = Object.fromEntries(
    values.map((value) => [label(value), new Float32Array(sizeOf(program.types[value]!.shape))]),
  );
  const inputs = Object.fromEntries(program.inputs.map(({ name }) => [name, buffers[name]!]));
  const executable = await backend.compile(watched);
  try {
    await executable.bind({ ...inputs, ...results })();
  } finally {
    await executable.close();
  }
  const wrong = values.find((value) => nonFinite(results[label(value)]!) >= 0);
  const node = wrong === undefined ? undefined : program.nodes.find(({ outputs }) => outputs.includes(wrong));
  return node && describe(program, node, results[label(wrong!)]!);
}

const nonFinite = (values: Numbers) => values.findIndex((value) => !Number.isFinite(value));

function describe(program: Program, { op, inputs, outputs }: Node, result: Numbers): string {
  const types = (list: readonly Value[]) => list.map((value) => printType(program.types[value]!)).join(', ');
  return `${op}(${types(inputs)}) → ${types(outputs)} is the first to give ${result[nonFinite(result)]}`;
}
