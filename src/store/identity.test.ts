import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { loadExperiment } from '../experiment/experiment.ts';
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
  expect(chosen({ algorithm: { kind: 'dfedavg', beta: 0 } }).algorithm).toEqual({ kind: 'dfedavg', beta: 0 });
  expect(chosen({ topology: { kind: 'tree', branches: 2 } }).topology).toEqual({ kind: 'tree' });
});
