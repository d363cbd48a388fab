import { trainersOf } from '../algorithm/facts.ts';
import { UserError } from '../base/error.ts';
import { Random } from '../base/random.ts';
import { sizeOf } from '../base/shape.ts';
import { batchCount, batches, fillBatch, pixelBatchOf } from '../data/batch.ts';
import { type Classification, type Dataset, type Samples, sharedParts } from '../data/dataset.ts';
import { classesOf, classTable, type Shards, shardsOf, streamsOf } from '../data/partition.ts';
import { fillTextBatch, textBatchCount } from '../data/text-batch.ts';
import type { Experiment } from '../experiment/schema.ts';
import type { Task } from '../model/context.ts';
import { tokensOf } from '../model/models.ts';
import type { Numbers } from '../tensor/backend.ts';

/** Batches for the replicas and for evaluation: pure functions of the experiment, whoever asks for them. */
export interface Feed {
  readonly task: Task;
  readonly stepsPerEpoch: number;
  /** Samples, or tokens, of each replica with data. */
  readonly samples: readonly number[];
  /** The sizes of batch that replicas first ≤ i < last get; more than one where the last of a pass is not left out. */
  batchSizes(first: number, last: number): readonly number[];
  /** Memory for a full batch in which it is filled fastest; undefined where any will do. */
  readonly batchMemory?: Float32Array | undefined;
  /** Fills a replica's batch for a step. */
  train(replica: number, step: number, x: Numbers, labels: Numbers): Filled;
  /** Samples in a batch of those that models are evaluated on: test samples, and if asked for training samples of all replicas. */
  readonly evaluationBatch: number;
  readonly test: EvaluationSet;
  readonly trained: EvaluationSet | undefined;
}

export interface EvaluationSet {
  /** Labels in all. */
  readonly labels: number;
  /** Fills batch `index`; returns how many labels of it count. */
  fill(index: number, x: Numbers, labels: Numbers): number;
}

export interface Filled {
  /** Samples in the batch. */
  readonly size: number;
  /** A pass over the replica's data begins: carried state starts anew. */
  readonly begins: boolean;
}

/** Samples evaluated at a time. */
const evaluationBatch = 250;
/** Samples of each set that a worker keeps in the form the model reads: all of MNIST's. */
const keptBytes = 2 ** 25;

/** The order of a replica's batches, kept for the pass it is in. */
type Pass = { readonly pass: number; readonly order: readonly Uint32Array[] };

/** What each replica with data trains on: the numbers of its samples, or its part of the text. */
export type Shares = readonly Uint32Array[] | readonly Int32Array[];

/** In shared memory, so that workers need not make them again. */
export function sharesOf(experiment: Experiment, dataset: Dataset): Shares {
  const { seed, batch, data } = experiment;
  const replicas = trainersOf(experiment);
  if (dataset.task !== 'language') return sharedParts(shardsOf(dataset, replicas, data.partition, seed, batch));
  return sharedParts(streamsOf(dataset, replicas, data.partition, seed, batch, bpttOf(experiment, dataset)));
}

/** How much each replica with data has: samples of each class, if there are classes, or tokens. */
export interface Dealt {
  /** counts[replica][class] */
  readonly counts: readonly (readonly number[])[] | null;
  readonly totals: readonly number[];
}

export function dealtOf(dataset: Dataset, shares: Shares): Dealt {
  const totals = shares.map(({ length }) => length);
  if (dataset.task === 'language') return { counts: null, totals };
  const classes = dataset.task === 'classification' ? dataset.classes : 1;
  return { counts: classTable(classesOf(dataset).labels, classes, shares as Shards), totals };
}

export function feedOf(experiment: Experiment, dataset: Dataset, shares = sharesOf(experiment, dataset)): Feed {
  return dataset.task === 'language'
    ? textFeed(experiment, dataset, shares as readonly Int32Array[])
    : sampleFeed(experiment, dataset, shares as readonly Uint32Array[]);
}

/**
 * An epoch is one pass over the training data by all replicas together. Where shards differ in size each replica goes through its
 * own again and again, so that a small one is seen more often and none has to wait.
 */
function sampleFeed(experiment: Experiment, dataset: Classification, shards: readonly Uint32Array[]): Feed {
  const { seed, batch, data, evaluation } = experiment;
  const dropLast = 'dropLast' in data ? data.dropLast : true;
  const passes = new Map<number, Pass>();
  const batchOf = (replica: number, step: number) => {
    const indices = shards[replica]!;
    const count = batchCount(indices.length, batch, dropLast);
    const pass = Math.floor(step / count);
    let known = passes.get(replica);
    if (known?.pass !== pass) {
      known = { pass, order: batches(indices, { batch, epoch: pass, replica, seed, dropLast }) };
      passes.set(replica, known);
    }
    return { indices: known.order[step % count]!, begins: step % count === 0 };
  };
  const { test, train } = dataset;
  const tested = chosenSamples(test.count, evaluation.samples, seed, testStream);
  const size = Math.min(evaluationBatch, tested.length);
  const pixels = pixelBatchOf(train, batch);
  const trained =
    evaluation.train === undefined ? undefined : chosenSamples(train.count, evaluation.train, seed, trainStream);
  return {
    task: {
      shape: dataset.shape,
      classes: dataset.classes,
      ...(dataset.task === 'classification' ? {} : { kind: dataset.task }),
    },
    stepsPerEpoch: Math.max(1, batchCount(Math.floor(train.count / shards.length), batch, dropLast)),
    samples: shards.map(({ length }) => length),
    batchSizes(first, last) {
      const rests = shards.slice(first, last).map(({ length }) => length % batch);
      return [batch, ...(dropLast ? [] : new Set(rests.filter((rest) => rest > 0)))];
    },
    batchMemory: pixels?.x,
    train(replica, step, x, labels) {
      const { indices, begins } = batchOf(replica, step);
      const here = x.buffer === pixels?.x.buffer ? pixels : undefined;
      fillBatch(train, indices, x as Float32Array, labels, { seed, replica, step }, here);
      return { size: indices.length, begins };
    },
    evaluationBatch: size,
    test: sampleSet(test, tested, size),
    trained: trained && sampleSet(train, trained, size),
  };
}

/** These samples as they are, without augmentation. */
function sampleSet(samples: Samples, chosen: Uint32Array, batch: number): EvaluationSet {
  // Every local model sees the same batches, so they are filled once if they fit.
  const { labelSize = 1 } = samples;
  const keeps = 4 * chosen.length * sizeOf(samples.shape) <= keptBytes;
  const kept = new Map<number, { readonly x: Float32Array; readonly labels: Numbers }>();
  return {
    labels: chosen.length * labelSize,
    fill(index, x, labels) {
      const indices = chosen.subarray(index * batch, (index + 1) * batch);
      const known = kept.get(index);
      if (known === undefined) {
        fillBatch(samples, indices, x as Float32Array, labels);
        if (keeps) kept.set(index, { x: (x as Float32Array).slice(), labels: labels.slice() });
      } else {
        x.set(known.x);
        labels.set(known.labels);
      }
      return indices.length * labelSize;
    },
  };
}

/** Streams of the purpose "evaluate"; which replicas are evaluated is drawn from 0. */
const [testStream, trainStream] = [1, 2];

/** Which samples are evaluated: all, or a seeded choice, for sets may be sorted; the same at every evaluation. */
function chosenSamples(count: number, wanted: number | 'all', seed: number, stream: number): Uint32Array {
  if (wanted === 'all' || wanted >= count) return Uint32Array.from({ length: count }, (_, i) => i);
  return new Random(seed, 'evaluate', stream).permutation(count).slice(0, wanted).sort();
}

/** Tokens that a language model reads at a time. */
function bpttOf({ model }: Experiment, { name }: Dataset): number {
  const tokens = tokensOf(model);
  if (tokens !== undefined) return tokens;
  throw new UserError(`${name} is a text, but ${model.kind} is not a language model`, {
    hint: 'use the model "gpt" or "lstm"',
  });
}

/** Text: every replica reads its own stream in order, `batch` rows side by side. Test text is read the same way. */
function textFeed(
  experiment: Experiment,
  dataset: Dataset & { task: 'language' },
  streams: readonly Int32Array[],
): Feed {
  const { batch, evaluation } = experiment;
  const bptt = bpttOf(experiment, dataset);
  const layout = { batch, bptt };
  const counts = streams.map((stream) => textBatchCount(stream.length, layout));
  const perBatch = batch * bptt;
  const textSet = (tokens: Int32Array, samples: number | 'all', which: string): EvaluationSet => {
    const wanted = samples === 'all' ? Number.POSITIVE_INFINITY : samples;
    const count = Math.min(textBatchCount(tokens.length, layout), Math.ceil(wanted / perBatch));
    if (count === 0)
      throw new UserError(`the ${which} text of ${dataset.name} is shorter than one batch of ${perBatch} tokens`, {
        hint: 'use a smaller batch, or let the model read fewer tokens at a time',
      });
    return {
      labels: count * perBatch,
      fill(index, x, labels) {
        fillTextBatch(tokens, layout, index, x as Int32Array, labels as Int32Array);
        return perBatch;
      },
    };
  };
  return {
    task: { shape: [bptt], classes: dataset.vocabulary.length },
    stepsPerEpoch: Math.max(1, Math.floor(counts.reduce((a, b) => a + b, 0) / streams.length)),
    samples: streams.map(({ length }) => length),
    batchSizes: () => [batch],
    train(replica, step, x, labels) {
      const index = step % counts[replica]!;
      fillTextBatch(streams[replica]!, layout, index, x as Int32Array, labels as Int32Array);
      return { size: batch, begins: index === 0 };
    },
    evaluationBatch: batch,
    test: textSet(dataset.test.tokens, evaluation.samples, 'test'),
    trained: evaluation.train === undefined ? undefined : textSet(dataset.train.tokens, evaluation.train, 'training'),
  };
}
