import { parseArgs } from 'node:util';
import { onednn } from '../src/onednn/backend.ts';
import { onnx } from '../src/onnx/backend.ts';
import { print } from '../src/tensor/print.ts';
import { apart, outputsOf, randomStep } from '../test/onednn/fuzz.ts';

/**
 * Random programs through oneDNN, each compared with onnxruntime:
 *
 *     npx tsx scripts/fuzz-onednn.ts [--count 10000] [--seed 1] [--bound 0.01]
 *
 * Prints the seeds of those that differ by more than the bound; with --count 1 the program as well.
 */
const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    bound: { type: 'string', default: '0.01' },
  },
});
const [count, first, bound] = [values.count, values.seed, values.bound].map(Number) as [number, number, number];
let wrong = 0;
let largest = 0;
for (let seed = first; seed < first + count; seed++) {
  const { program, inputs } = randomStep(seed);
  if (seed % 1000 === 0) console.log(`${seed - first} programs, ${wrong} wrong`);
  if (count === 1) console.log(print(program));
  try {
    const wanted = await outputsOf(onnx, program, inputs);
    const [name, distance] = apart(await outputsOf(onednn, program, inputs), wanted);
    largest = Math.max(largest, distance);
    if (distance <= bound) continue;
    console.log(`seed ${seed}: ${name} differs by ${distance}`);
  } catch (error) {
    console.log(`seed ${seed}: ${(error as Error).message}`);
  }
  wrong += 1;
}
console.log(`${count} programs from seed ${first}, ${wrong} wrong; the largest distance is ${largest}`);
process.exitCode = wrong === 0 ? 0 : 1;
