import { parseArgs } from 'node:util';
import { Random } from '../src/base/random.ts';
import { exportedFiles, mutated, tryImport } from '../test/import/fuzz.ts';

/**
 * Mutated ONNX files: each must be imported or refused with a UserError, within five seconds and with little memory.
 *
 *     npx tsx scripts/fuzz-onnx.ts [--count 100000] [--seed 1]
 */
const { values } = parseArgs({
  options: { count: { type: 'string', default: '100000' }, seed: { type: 'string', default: '1' } },
});
const files = [...exportedFiles];
let [imported, slowest, memory] = [0, 0, 0];
for (let i = 0; i < Number(values.count); i++) {
  const random = new Random(Number(values.seed), 'test', i);
  const [name, bytes] = files[random.below(files.length)]!;
  const start = performance.now();
  try {
    if (tryImport(mutated(bytes, random))) imported++;
  } catch (error) {
    console.error(`mutation ${i} of ${name}:`);
    throw error;
  }
  const ms = performance.now() - start;
  if (ms > 5000) throw new Error(`mutation ${i} of ${name} took ${ms} ms`);
  slowest = Math.max(slowest, ms);
  if (i % 100 === 0) memory = Math.max(memory, process.memoryUsage().rss);
  if (i % 5000 === 4999)
    console.log(`${i + 1}: ${imported} imported, slowest ${slowest.toFixed()} ms, ${(memory / 2 ** 20).toFixed()} MB`);
}
