import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { packageVersion } from '../base/version.ts';
import { alone, type World } from '../transport/world.ts';

/** Where and with what a run was made: stored with it, so that figures can be judged later. */
export interface Context {
  readonly startedAt: string;
  readonly dbench: string;
  readonly commit: string | null;
  readonly node: string;
  readonly platform: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly load: number;
  /** Worker threads of this process. */
  readonly workers: number;
  /** Processes of the run, and what carries their messages. */
  readonly processes: number;
  readonly transport: string;
  readonly backend: string;
  /** Of the library behind it. */
  readonly backendVersion: string;
  /** The command with --launch that started its ranks: attempts of the same command have the same. */
  readonly launch?: string | undefined;
}

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
): Context {
  return {
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
