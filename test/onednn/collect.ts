/** Runs a step again and again while memory is collected and reused; says whether the results stay the same. */
import { initialise } from '../../src/model/layout.ts';
import { buildModel, modelSchema } from '../../src/model/models.ts';
import { allocate, gradientStep, stepBuffers } from '../../src/model/step.ts';
import { onednn } from '../../src/onednn/backend.ts';

const collect = (globalThis as unknown as { gc(): void }).gc;

async function start() {
  const model = buildModel(modelSchema.parse({ kind: 'cnn', filters: [5] }), { shape: [1, 8, 8], classes: 3 });
  const step = gradientStep(model, 3);
  const memory = allocate(step);
  memory.params!.set(initialise(step.params, 1));
  memory.x.fill(0.5);
  const executable = await onednn.compile(step.program);
  const lengths = Object.values(memory).map(({ length }) => length);
  // What is not returned is kept by the run alone; some of it is so small that it begins on the heap.
  return { run: executable.bind(stepBuffers(step, memory)), gradient: memory.gradient!, loss: memory.loss!, lengths };
}

const { run, gradient, loss, lengths } = await start();
await run();
const wanted = [...gradient, loss[0]];
let same = true;
for (let i = 0; i < 20; i++) {
  collect();
  await new Promise((resolve) => setTimeout(resolve, 10));
  // Takes the place of whatever was freed.
  const reused = lengths.flatMap((length) => Array.from({ length: 50 }, () => new Float32Array(length).fill(i)));
  gradient.fill(0);
  await run();
  same &&= [...gradient, loss[0]].every((value, k) => value === wanted[k]);
  same &&= reused.every((array) => array.every((value) => value === i));
}
console.log(same ? 'same' : 'different');
