import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { it } from 'vitest';
import { type Ended, run as runCommand } from '../command.ts';

export const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const packages = { openmpi: 'openmpi-bin', mpich: 'mpich' } as const;
export type LibraryName = keyof typeof packages;

export function installed(program: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** A test that needs programs of Debian packages; skipped with the reason where they are missing. */
export function needing(needs: Readonly<Record<string, string>>) {
  const missing = Object.entries(needs).filter(([program]) => !installed(program));
  if (missing.length === 0) return it;
  const reason = `needs ${missing.map(([, name]) => name).join(', ')}`;
  return (name: string, _work: () => Promise<void>) => it.skip(`${name} (${reason})`, () => {});
}

export const needingMpi = (library: LibraryName) => needing({ [`mpirun.${library}`]: packages[library] });

/** The launcher's command for so many ranks; more than cores are allowed, and root in containers. */
export const mpirun = (library: LibraryName, ranks: number): string[] => [
  `mpirun.${library}`,
  ...(library === 'openmpi' ? ['--oversubscribe'] : []),
  '-n',
  String(ranks),
];

/** Open MPI refuses root otherwise. */
const env = { OMPI_ALLOW_RUN_AS_ROOT: '1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1' };

/** A command that may start ranks. */
export const run = (command: readonly string[], cwd: string, options: Parameters<typeof runCommand>[2] = {}) =>
  runCommand(command, cwd, { ...options, env: { ...env, ...options.env } });

export const dbench = (args: readonly string[], cwd: string, launcher: readonly string[] = []) =>
  run([...launcher, process.execPath, main, ...args], cwd);

/** paramsSha256 by name, as `--json` prints it. */
export function shasOf({ status, stdout, stderr }: Ended): Record<string, string> {
  if (status !== 0) throw new Error(`ended with ${status}: ${stderr}`);
  const summaries = JSON.parse(stdout) as { name: string; paramsSha256: string }[];
  return Object.fromEntries(summaries.map(({ name, paramsSha256 }) => [name, paramsSha256]));
}

/** The process of a rank that was started in a folder for these runs, found by what the launcher put into its environment. */
export function processOf(rank: number, folder: string, runs: string): number | undefined {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .find((pid) => {
      try {
        const started = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        const told = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
        const isRank = told.includes(`OMPI_COMM_WORLD_RANK=${rank}`) || told.includes(`PMI_RANK=${rank}`);
        const here = readlinkSync(`/proc/${pid}/cwd`) === folder;
        return isRank && here && started.includes(runs) && started[0] === process.execPath;
      } catch {
        return false;
      }
    });
}
