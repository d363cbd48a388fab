import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { z } from 'zod';
import { packageVersion } from '../base/version.ts';
import { alone, type World } from '../transport/world.ts';

/**
 * How a run is stored. It changes if older versions can no longer read what is written: a setting or a column that is added does not
 * change it. Version 0.1 wrote none.
 */
export const runFormat = 1;

/** Where and with what a run was made: stored with it, so that figures can be judged later. */
export const contextSchema = z.object({
  format: z.int().min(0).default(0),
  startedAt: z.iso.datetime(),
  dbench: z.string(),
  commit: z.string().nullable(),
  node: z.string(),
  platform: z.string(),
  cpu: z.string(),
  cores: z.int(),
  memoryBytes: z.number(),
  load: z.number(),
  /** Worker threads of this process. */
  workers: z.int(),
  /** Processes of the run, and what carries their messages. */
  processes: z.int(),
  transport: z.string(),
  backend: z.string(),
  /** Of the library behind it. */
  backendVersion: z.string(),
  /** The command with --launch that started its ranks: attempts of the same command have the same. */
  launch: z.string().optional(),
});
export type MachineContext = Readonly<z.output<typeof contextSchema>>;

function commit(): string | null {
  try {
    const options = { cwd: new URL('.', import.meta.url), encoding: 'utf8', stdio: 'pipe' } as const;
    return execFileSync('git', ['rev-parse', 'HEAD'], options).trim();
  } catch {
    // An installed package has no history.
    return null;
  }
}

export function machineContext(
  workers: number,
  { name: backend, version: backendVersion }: { readonly name: string; readonly version: string },
  { size, transport }: Pick<World, 'size' | 'transport'> = alone,
): MachineContext {
  return {
    format: runFormat,
    startedAt: new Date().toISOString(),
    dbench: packageVersion(),
    commit: commit(),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    load: loadavg()[0]!,
    workers,
    processes: size,
    transport,
    backend,
    backendVersion,
  };
}
