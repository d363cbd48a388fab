import { expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { mean } from '../../src/base/statistics.ts';
import type { Text } from '../../src/data/dataset.ts';
import { dataFolder } from '../../src/data/folder.ts';
import { loadData } from '../../src/data/load.ts';
import { dataSchema } from '../../src/data/schema.ts';
import { buildModel, modelSchema } from '../../src/model/models.ts';
import { onlyWith } from '../needs.ts';
import { asCifar, gather, type Images, mnist } from './mnist.ts';
import { evaluate, replicaOf } from './replica.ts';

/** A single replica on one thread really learns. */

function* batches(count: number, batch: number, epoch: number): Generator<Uint32Array> {
  const order = new Random(1, 'shuffle', 0, epoch).permutation(count);
  for (let at = 0; at + batch <= count; at += batch) yield order.subarray(at, at + batch);
}

it('mlp: at least 97 % of MNIST’s test images after 3 epochs', async () => {
  const [train, test] = [mnist('train'), mnist('t10k')];
  const model = buildModel(modelSchema.parse({ kind: 'mlp' }));
  const replica = await replicaOf(model, 32, { kind: 'sgd', momentum: 0.9 });
  for (let epoch = 0; epoch < 3; epoch++)
    for (const places of batches(train.labels.length, 32, epoch)) {
      const { x, labels } = gather(train, places);
      await replica.train(x, labels, 0.01);
    }
  const parts = Array.from({ length: 20 }, (_, part) =>
    gather(
      test,
      Array.from({ length: 500 }, (_, i) => part * 500 + i),
    ),
  );
  const { accuracy } = await evaluate(model, 500, replica.rows, parts);
  await replica.close();
  console.log(`MNIST test accuracy ${accuracy}`);
  expect(accuracy).toBeGreaterThanOrEqual(0.97);
});

it('resnet20: the loss falls on 2,000 images, and running statistics serve evaluation', async () => {
  const images: Images = asCifar(mnist('train'), 2000);
  const model = buildModel(modelSchema.parse({ kind: 'resnet20' }));
  const replica = await replicaOf(model, 25, { kind: 'sgd', momentum: 0.9, weightDecay: 1e-4 });
  const losses: number[] = [];
  for (const places of batches(2000, 25, 0)) {
    const { x, labels } = gather(images, places, 3072);
    losses.push(await replica.train(x, labels, 0.01));
  }
  const all = Array.from({ length: 10 }, (_, part) =>
    gather(
      images,
      Array.from({ length: 50 }, (_, i) => part * 50 + i),
      3072,
    ),
  );
  const { accuracy } = await evaluate(model, 50, replica.rows, all);
  await replica.close();
  console.log(`resnet20 loss ${mean(losses.slice(0, 5))} → ${mean(losses.slice(-5))}, accuracy ${accuracy}`);
  expect(mean(losses.slice(-5))).toBeLessThan(0.7 * mean(losses.slice(0, 5)));
  // Guessing gives 0.1.
  expect(accuracy).toBeGreaterThan(0.5);
});

onlyWith('shakespeare')('lstm: perplexity on unseen Shakespeare falls below a unigram model’s', async () => {
  const {
    train: seen,
    test: unseen,
    vocabulary,
  } = (await loadData(dataSchema.parse({ kind: 'shakespeare' }), { seed: 1, folder: dataFolder() })) as Text;
  const [bptt, batch] = [30, 20];
  const model = buildModel(modelSchema.parse({ kind: 'lstm', layers: 1, hidden: 128, dropout: 0.1, bptt }), {
    shape: [],
    classes: vocabulary.length,
  });
  const train = seen.tokens.subarray(0, 500_000);
  const test = unseen.tokens.subarray(0, 60_000);

  const replica = await replicaOf(model, batch, { kind: 'adam', clipNorm: 1 });
  let count = 0;
  for (const { x, labels } of columns(train, batch, bptt)) {
    await replica.train(x, labels, 0.005);
    if (++count === 300) break;
  }
  const { loss } = await evaluate(model, batch, replica.rows, columns(test, batch, bptt));
  await replica.close();

  const counts = new Float64Array(vocabulary.length).fill(1);
  for (const token of train) counts[token]! += 1;
  const total = counts.reduce((sum, value) => sum + value);
  const unigram = Math.exp(mean(Array.from(test, (token) => -Math.log(counts[token]! / total))));
  console.log(`Shakespeare: perplexity ${Math.exp(loss)}, unigram model ${unigram}`);
  expect(Math.exp(loss)).toBeLessThan(0.6 * unigram);
});

/** The text cut into as many columns as sequences, read downwards: x and the tokens one step ahead, [time, batch]. */
function* columns(tokens: Int32Array, batch: number, bptt: number) {
  const height = Math.floor((tokens.length - 1) / batch);
  for (let top = 0; top + bptt <= height; top += bptt) {
    const at = (ahead: number) =>
      Int32Array.from(
        { length: bptt * batch },
        (_, i) => tokens[(i % batch) * height + top + Math.floor(i / batch) + ahead]!,
      );
    yield { x: at(0), labels: at(1) };
  }
}
