/**
 * Trains a gpt here and in PyTorch, from the same parameters on the same batches of Shakespeare, and compares the perplexity on test text.
 *
 *     npx tsx bench/perplexity.ts [--steps 200] [--backend auto]      (DBENCH_DATA names the folder of the data)
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type BackendChoice, chooseBackend, openBackend } from '../src/backends.ts';
import { loadData } from '../src/data/load.ts';
import { dataSchema } from '../src/data/schema.ts';
import { fillTextBatch } from '../src/data/text-batch.ts';
import { initialise } from '../src/model/layout.ts';
import { buildModel, modelSchema } from '../src/model/models.ts';
import { allocate, evalStep, stepBuffers, trainStep } from '../src/model/step.ts';
import { optimizer, optimizerSchema } from '../src/optim/optimizer.ts';

const { values } = parseArgs({
  options: { steps: { type: 'string', default: '200' }, backend: { type: 'string', default: 'auto' } },
});
const steps = Number(values.steps);
const [batch, learningRate, testBatches] = [8, 0.003, 20];
const settings = { kind: 'gpt', layers: 2, heads: 2, width: 64, context: 32, dropout: 0 } as const;
const rule = { kind: 'adamw', weightDecay: 0.1 } as const;

const dataset = await loadData(dataSchema.parse({ kind: 'shakespeare' }), { seed: 1 });
if (dataset.task !== 'language') throw new Error('Shakespeare is a text');
const model = buildModel(modelSchema.parse(settings), { shape: [], classes: dataset.vocabulary.length });
const layout = { batch, bptt: settings.context };
const train = trainStep(model, batch, optimizer(optimizerSchema.parse(rule)));
const memory = allocate(train);
memory.params!.set(initialise(train.params, 1));
const start = memory.params!.slice();
const backend = await openBackend(await chooseBackend(values.backend as BackendChoice));
const executable = await backend.compile(train.program);
const run = executable.bind(stepBuffers(train, memory));
memory.learningRate![0] = learningRate;
const fed: Int32Array[] = [];
for (let step = 0; step < steps; step++) {
  fillTextBatch(dataset.train.tokens, layout, step, memory.x as Int32Array, memory.labels as Int32Array);
  fed.push(memory.x.slice() as Int32Array, memory.labels.slice() as Int32Array);
  memory.step![0] = step;
  await run();
  for (const row of ['params', ...train.slots]) memory[row]!.set(memory[`${row}'`]!);
}
const tester = evalStep(model, batch);
const tested = allocate(tester);
tested.params!.set(memory.params!);
const evaluate = (await backend.compile(tester.program)).bind(stepBuffers(tester, tested));
let loss = 0;
for (let index = 0; index < testBatches; index++) {
  fillTextBatch(dataset.test.tokens, layout, index, tested.x as Int32Array, tested.labels as Int32Array);
  fed.push(tested.x.slice() as Int32Array, tested.labels.slice() as Int32Array);
  await evaluate();
  loss += tested.losses!.reduce((sum, value) => sum + value, 0) / tested.losses!.length / testBatches;
}

const folder = mkdtempSync(join(tmpdir(), 'dbench-perplexity-'));
try {
  const about = {
    ...settings,
    vocabulary: dataset.vocabulary.length,
    batch,
    steps,
    learningRate,
    weightDecay: rule.weightDecay,
  };
  writeFileSync(
    join(folder, 'about.json'),
    JSON.stringify({ ...about, tensors: train.params.map(({ name, shape }) => ({ name, shape })) }),
  );
  writeFileSync(join(folder, 'start.bin'), start);
  writeFileSync(join(folder, 'batches.bin'), Buffer.concat(fed.map((part) => Buffer.from(part.buffer))));
  const script = fileURLToPath(new URL('torch_perplexity.py', import.meta.url));
  const theirs = Number(execFileSync('/usr/bin/python3', [script, folder], { encoding: 'utf8' }));
  const [own, other] = [Math.exp(loss), Math.exp(theirs)];
  console.log(
    `${steps} steps, ${backend.name}: perplexity ${own.toFixed(4)}, PyTorch ${other.toFixed(4)}, ratio ${(own / other).toFixed(5)}`,
  );
} finally {
  rmSync(folder, { recursive: true });
}
