import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { loadExperiment, resolve } from '../experiment/experiment.ts';
import { runSchema } from '../experiment/schema.ts';
import { identityOf } from './identity.ts';

const folder = fileURLToPath(new URL('../../experiments/', import.meta.url));
const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'));

it.each(files)('all settings of %s follow from those that differ from their defaults', (file) => {
  const [first, ...others] = loadExperiment(folder + file);
  for (const experiment of [first!, ...others]) {
    const { description: _, ...settings } = experiment;
    const chosen = identityOf(experiment);
    expect(runSchema.parse(JSON.parse(chosen))).toEqual(settings);
    expect(chosen.length).toBeLessThan(JSON.stringify(settings).length);
  }
  expect(new Set([first!, ...others].map(identityOf)).size).toBe(1 + others.length);
});

it('knows the defaults of algorithms and topologies too, by any of their names', () => {
  const [plain] = loadExperiment(`${folder}quickstart.yaml`);
  const chosen = (settings: object) => JSON.parse(identityOf(runSchema.parse({ ...plain, ...settings })));
  expect(chosen({ algorithm: { kind: 'local-sgd', period: 8 } }).algorithm).toEqual({ kind: 'local-sgd' });
  expect(chosen({ algorithm: { kind: 'dfedavg', beta: 0 } }).algorithm).toEqual({ kind: 'dfedavg' });
  expect(chosen({ algorithm: { kind: 'dfedavgm', beta: 0 } }).algorithm).toEqual({ kind: 'dfedavgm', beta: 0 });
  expect(chosen({ algorithm: { kind: 'power-gossip', rank: 1 } }).algorithm).toEqual({ kind: 'power-gossip' });
  expect(chosen({ topology: { kind: 'tree', branches: 2 } }).topology).toEqual({ kind: 'tree' });
});

const minimal = {
  name: 'timed',
  replicas: 8,
  data: { kind: 'synthetic' },
  model: { kind: 'mlp' },
  batch: 4,
  epochs: 2,
  learningRate: { base: 0.1 },
};
const resolved = (settings: object) => resolve({ ...minimal, ...settings }, 'timed')[0]!;

it('a run without a network is known by what it was known by before there were any', () => {
  expect(identityOf(resolved({}))).toBe(
    '{"batch":4,"data":{"kind":"synthetic"},"epochs":2,"learningRate":{"base":0.1},"model":{"kind":"mlp"},"name":"timed","replicas":8}',
  );
});

it('a network is part of what a run is known by, what was measured is not', () => {
  for (const network of ['aws', { kind: 'summit', sharing: 'fair' }, { kind: 'silos', tcp: true }]) {
    const run = resolved({ network, devices: { compute: 'measured', factor: 2 } });
    expect(runSchema.parse(JSON.parse(identityOf(run)))).toEqual(run);
    expect(identityOf(run)).not.toBe(identityOf(resolved({})));
    expect(identityOf({ ...run, devices: { ...run.devices, measured: '5ms' } })).toBe(identityOf(run));
  }
});

it('norms of very many replicas are thinned by itself, which makes no other run of it', () => {
  const probes = (settings: object) => resolved(settings).probes;
  expect(probes({ replicas: 1024 }).normsEvery).toBeUndefined();
  expect(probes({ replicas: 1025 }).normsEvery).toBe(2);
  expect(probes({ replicas: 10_080 }).normsEvery).toBe(10);
  expect(probes({ replicas: 10_080, probes: { norms: false } }).normsEvery).toBeUndefined();
  expect(probes({ replicas: 10_080, probes: { normsEvery: 1 } }).normsEvery).toBe(1);
  const identity = (settings: object) => JSON.parse(identityOf(resolved({ replicas: 2048, ...settings })));
  expect(identity({})).not.toHaveProperty('probes');
  expect(identity({ probes: { normsEvery: 2 } })).not.toHaveProperty('probes');
  expect(identity({ probes: { normsEvery: 1 } }).probes).toEqual({ normsEvery: 1 });
});
