/** Runs a step again and again while memory is collected and reused; says whether the results stay the same. */
import { initialise } from '../../src/model/layout.ts';
import { buildModel, modelSchema } from '../../src/model/models.ts';
import { allocate, gradientStep, stepBuffers } from '../../src/model/step.ts';
import { onednn } from '../../src/onednn/backend.ts';

const collect = (globalThis as unknown as { gc(): void }).gc;

async function start() {
  const step = gradientStep(
    buildModel(modelSchema.parse({ kind: 'cnn', filters: [5] }), { shape: [1, 8, 8], classes: 3 }),
    3,
  );
  const memory = allocate(step);
  memory.params!.set(initialise(step.params, 1));
  memory.x.fill(0.5);
  const executable = await onednn.compile(step.program);
  // The buffers of single tensors are kept by the run alone, some of them so small that they begin on the heap.
  return { run: executable.bind(stepBuffers(step, memory)), gradient: memory.gradient!, loss: memory.loss! };
}

const { run, gradient, loss } = await start();
await run();
const wanted = [...gradient, loss[0]];
let same = true;
for (let i = 0; i < 50; i++) {
  collect();
  // Whoever still wrote to freed memory would write here.
  const reused = Array.from({ length: 200 }, () => new Float32Array(1 + (i % 40)).fill(i));
  gradient.fill(0);
  await run();
  same &&= [...gradient, loss[0]].every((value, k) => value === wanted[k]);
  same &&= reused.every((array) => array.every((value) => value === i));
}
console.log(same ? 'same' : 'different');
