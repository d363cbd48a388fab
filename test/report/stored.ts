import type { Event, StepEvent } from '../../src/engine/event.ts';
import { resolve } from '../../src/experiment/experiment.ts';
import { machineContext } from '../../src/store/context.ts';
import { EventStore } from '../../src/store/database.ts';
import { createRun, type Run, writeResult } from '../../src/store/runs.ts';

/** How a made-up run goes. */
export interface Story {
  /** Over the defaults below. */
  readonly settings?: object;
  /** Of the local models at the end of each epoch. */
  readonly accuracy: readonly number[];
  /** How far the norms of the replicas are apart, step by step. */
  readonly spread?: (step: number) => number;
  readonly connections?: number;
  readonly sentBytes?: number;
  readonly stepsPerEpoch?: number;
  /** A replica that is lost in the first step. */
  readonly lost?: number;
  /** How it ends; not at all where undefined. */
  readonly status?: 'complete' | 'stopped' | 'diverged' | undefined;
}

const tensors = ['fc.weight', 'fc.bias'].map((name) => ({ name, shape: [2, 3], kind: 'weight', size: 6 }));

/** A run as the engine would have stored it, with events made up. */
export async function storeRun(root: string, story: Story): Promise<Run> {
  const [experiment] = resolve(
    {
      name: 'D_ring',
      replicas: 4,
      data: { kind: 'mnist' },
      model: { kind: 'mlp' },
      batch: 4,
      epochs: story.accuracy.length,
      learningRate: { base: 0.1 },
      ...story.settings,
    },
    'test',
  );
  const run = createRun(root, experiment!, machineContext(1, { name: 'onnx', version: '1.2.3' }));
  const store = await EventStore.open(run.database);
  for (const event of eventsOf(story, experiment!.replicas)) await store.append(event);
  store.close();
  const status = 'status' in story ? story.status : 'complete';
  const diverged = status === 'diverged' ? 'the loss of replica 0 is NaN at step 3' : undefined;
  const reason =
    diverged ?? (story.lost === undefined ? undefined : `rank 1 with replica ${story.lost} was lost in step 0`);
  const step = story.accuracy.length * (story.stepsPerEpoch ?? 10);
  if (status !== undefined)
    writeResult(run, { status, step, paramsSha256: '', seconds: 1, ...(reason === undefined ? {} : { reason }) });
  return run;
}

function* eventsOf(story: Story, replicas: number): Generator<Event> {
  const { accuracy, stepsPerEpoch = 10, spread = () => 0.1, connections = 2, sentBytes = 100 } = story;
  const steps = accuracy.length * stepsPerEpoch;
  const there = Array.from({ length: replicas }, (_, i) => i).filter((i) => i !== story.lost);
  const each = (value: (replica: number) => number) =>
    Array.from({ length: replicas }, (_, i) => (i === story.lost ? null : value(i)));
  yield { type: 'start', step: 0, steps, stepsPerEpoch, workers: 1, tensors };
  for (let step = 0; step < steps; step++) {
    const event: StepEvent = {
      type: 'step',
      step,
      epoch: Math.floor(step / stepsPerEpoch),
      connections,
      learningRate: 0.1,
      loss: each((i) => 1 / (step + 1) + i),
      accuracy: each(() => 0.5),
      gradientNorm: each(() => 1),
      distance: 1,
      replicaDistance: null,
      round: 0,
      controlledDistance: null,
      targetDistance: null,
      estimatedDistance: null,
      threshold: null,
      harm: null,
      period: null,
      branch: null,
      gossips: 1,
      ownSteps: null,
      staleness: null,
      sentBytes,
      sentMessages: connections,
      virtualStart: null,
      virtualComputed: null,
      virtualFinished: null,
      ms: { data: 10, compute: 60, mix: 20, wait: 10, probe: 0 },
    };
    yield event;
    yield {
      type: 'norms',
      step,
      norms: tensors.map((_, tensor) => each((i) => 1 + (tensor + 1) * spread(step) * (i / replicas))),
    };
    if ((step + 1) % stepsPerEpoch === 0) {
      const score = { loss: 1, accuracy: accuracy[Math.floor(step / stepsPerEpoch)]! };
      yield {
        type: 'evaluation',
        step: step + 1,
        epoch: (step + 1) / stepsPerEpoch,
        replicas: there,
        samples: 1000,
        local: there.map(() => score),
        train: null,
        merged: score,
        ms: 5,
        virtualSeconds: null,
        mergedVirtualSeconds: null,
      };
    }
  }
}
