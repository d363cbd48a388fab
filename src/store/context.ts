import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { packageVersion } from '../base/version.ts';

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
  readonly workers: number;
  readonly backend: string;
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

export function machineContext(workers: number, backend: string): Context {
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
    backend,
  };
}
