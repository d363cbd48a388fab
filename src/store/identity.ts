import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { withoutDefaults } from '../base/schema.ts';
import { byContent } from '../experiment/files.ts';
import { unmeasured } from '../experiment/network.ts';
import { unchosen } from '../experiment/probes.ts';
import { type Experiment, runSchema } from '../experiment/schema.ts';
import { experimentIn } from './parts.ts';

/**
 * All that decides a run, as text: the settings that differ from their defaults, keys sorted, and the content of the files they name. So
 * a setting that is added later, with a default, does not make another run of it. What was measured when it began was not chosen.
 */
export function identityOf(experiment: Experiment): string {
  const { description: _, ...settings } = unchosen(unmeasured(experiment));
  return JSON.stringify(sorted(byContent(withoutDefaults(runSchema, settings))));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, part]) => [key, sorted(part)]),
  );
}

/** An identity as eight letters, for names of folders. */
export const fingerprintOf = (identity: string): string =>
  createHash('sha256').update(identity).digest('hex').slice(0, 8);

/** Of what was read once: a sweep asks for each of its runs, of all runs. */
const known = new Map<string, string>();

/** The identity of the run in a folder, whatever its name; undefined if there is none. */
export function identityIn(folder: string): string | undefined {
  const path = resolve(join(folder, 'experiment.json'));
  const file = statSync(path, { throwIfNoEntry: false });
  if (file === undefined) return undefined;
  const key = `${path} ${file.mtimeMs} ${file.ino}`;
  const identity = known.get(key) ?? identityOf(experimentIn(folder));
  known.set(key, identity);
  return identity;
}
