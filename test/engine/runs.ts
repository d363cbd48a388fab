import { fileURLToPath } from 'node:url';
import type { BackendName } from '../../src/backends.ts';
import type { Dataset } from '../../src/data/dataset.ts';
import type { EndEvent, EvaluationEvent, Event, StepEvent } from '../../src/engine/event.ts';
import { resolve } from '../../src/experiment/experiment.ts';
import { run } from '../command.ts';

// Ranks are worker threads of the built package, so these tests run on it; its types are those of the sources.
const built = (file: string) => new URL(`../../dist/${file}`, import.meta.url);
const { train } = (await import(built('engine/engine.js').href)) as typeof import('../../src/engine/engine.ts');
const { prepare } = (await import(built('engine/prepare.js').href)) as typeof import('../../src/engine/prepare.ts');
const main = fileURLToPath(built('cli/main.js'));

/** A run of a second or less that still learns: noisy Gaussian classes, a small mlp, 12 replicas. */
export const small = {
  name: 'small',
  replicas: 12,
  data: { kind: 'synthetic', classes: 4, shape: [10], noise: 1, train: 960, test: 200 },
  model: { kind: 'mlp', hidden: [16] },
  batch: 8,
  epochs: 3,
  optimizer: { kind: 'sgd', momentum: 0.9 },
  learningRate: { base: 0.1 },
  topology: { kind: 'ring' },
};

/** Averages in pairs, each when it has computed, on devices of different and changing speed. */
export const inPairs = {
  algorithm: { kind: 'ad-psgd' },
  network: 'lan',
  devices: {
    compute: '2ms',
    slow: { kind: 'devices', share: 0.1, factor: 5 },
    noise: { kind: 'exponential', mean: 0.5 },
  },
};

export interface Outcome {
  readonly events: readonly Event[];
  readonly steps: readonly StepEvent[];
  readonly evaluations: readonly EvaluationEvent[];
  readonly end: EndEvent;
}

export async function outcomeOf(
  settings: object,
  options: Parameters<typeof train>[2] = {},
  dataset?: Dataset,
): Promise<Outcome> {
  const [experiment] = resolve({ ...small, ...settings }, 'test');
  const prepared = await prepare(experiment!, { dataset });
  const events: Event[] = [];
  for await (const event of train(experiment!, prepared, options)) events.push(event);
  const of = <T extends Event['type']>(type: T) =>
    events.filter((event) => event.type === type) as Extract<Event, { type: T }>[];
  return { events, steps: of('step'), evaluations: of('evaluation'), end: of('end')[0]! };
}

export const shaOf = async (settings: object, workers = 2, backend?: BackendName) =>
  (await outcomeOf(settings, { workers, backend })).end.paramsSha256;

/** Runs the command; `end` is asked again and again whether to end it, and how. */
export const dbench = (args: readonly string[], cwd: string, end?: () => NodeJS.Signals | undefined) =>
  run([process.execPath, main, ...args], cwd, {
    meanwhile(child) {
      const signal = end?.();
      return signal !== undefined && child.kill(signal);
    },
  });
