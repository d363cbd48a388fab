import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import type { Event } from '../engine/event.ts';
import { resolve } from '../experiment/experiment.ts';
import { machineContext } from '../store/context.ts';
import { EventStore } from '../store/database.ts';
import { createRun } from '../store/runs.ts';
import { readNetwork } from './network.ts';

const root = mkdtempSync(join(tmpdir(), 'dbench-network-'));
afterAll(() => rmSync(root, { recursive: true }));

const [nan, infinity] = [Number.NaN, Number.POSITIVE_INFINITY];
const events: readonly Event[] = [
  {
    type: 'start',
    step: 0,
    steps: 1,
    stepsPerEpoch: 1,
    workers: 1,
    tensors: [{ name: 'fc.weight', shape: [2, 3], kind: 'weight', size: 6 }],
  },
  {
    type: 'step',
    step: 0,
    epoch: 0,
    connections: 2,
    learningRate: 0.5,
    loss: [nan, 1.5, null],
    accuracy: [0.5, 0.25, null],
    gradientNorm: [nan, 1, null],
    distance: nan,
    replicaDistance: [infinity, 2, null],
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
    sentBytes: 100,
    sentMessages: 2,
    virtualStart: null,
    virtualComputed: null,
    virtualFinished: null,
    ms: { data: 1, compute: 1, mix: 1, wait: 1, probe: 1 },
  },
  { type: 'norms', step: 0, norms: [[-infinity, 3, null]] },
  { type: 'edges', step: 0, source: [0, 0, 1], replica: [1, 2, 2], distance: [nan, 4, null] },
];

it('has numbers and null alone of a run that diverged', async () => {
  const settings = { data: { kind: 'mnist' }, model: { kind: 'mlp' }, batch: 4, epochs: 1, probes: { edges: true } };
  const [experiment] = resolve({ name: 'nan', replicas: 3, learningRate: { base: 0.1 }, ...settings }, 'test');
  const run = createRun(root, experiment!, machineContext(1, { name: 'onnx', version: '1.2.3' }));
  const store = await EventStore.open(run.database);
  for (const event of events) await store.append(event);
  store.close();
  const found = await readNetwork(run, { most: 1000, norms: true });
  expect(found!.frames[0]).toMatchObject({
    loss: [null, 1.5, null],
    accuracy: [0.5, 0.25, null],
    distance: [null, 2, null],
    norms: [[null, 3, null]],
    edges: [null, 4, null],
  });
});
