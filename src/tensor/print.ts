import type { Program, TensorType, Value } from './program.ts';

const short = { float32: 'f32', int32: 'i32' } as const;

/** `f32[32,784]` */
export const printType = (type: TensorType): string => `${short[type.dtype]}[${type.shape}]`;

/** The readable text form of a program, one line a node: `%3: f32[32,128] = relu %2`. */
export function print(program: Program): string {
  const typed = (value: Value) => `%${value}: ${printType(program.types[value]!)}`;
  const attribute = (value: unknown) => (Array.isArray(value) ? `[${value}]` : String(value));
  return [
    ...program.inputs.map(({ name, value }) => `${typed(value)} = input ${name}`),
    ...program.nodes.map(({ op, inputs, outputs, attributes }) => {
      const entries = Object.entries(attributes).map(([name, value]) => ` ${name}=${attribute(value)}`);
      return `${outputs.map(typed).join(', ')} = ${op}${inputs.map((value) => ` %${value}`).join('')}${entries.join('')}`;
    }),
    ...program.outputs.map(({ name, value }) => `output ${name} = %${value}`),
  ].join('\n');
}
