import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect } from 'vitest';
import { methods } from '../../src/algorithm/methods.ts';
import { mpirun, needingMpi, run } from './launch.ts';

interface Found {
  readonly sha: string;
  readonly resumed?: string;
  readonly counted: readonly number[];
  readonly wire: readonly number[];
}

/** What methods.ts prints. */
async function found(launcher: readonly string[], ...args: string[]): Promise<Record<string, Found>> {
  const program = fileURLToPath(new URL('./methods.ts', import.meta.url));
  const command = [...launcher, process.execPath, '--import', import.meta.resolve('tsx'), program, ...args];
  const { status, stdout, stderr } = await run(command, tmpdir());
  if (status !== 0) throw new Error(`ended with ${status}: ${stderr}`);
  return JSON.parse(stdout) as Record<string, Found>;
}

describe('over MPI', () => {
  needingMpi('openmpi')(
    'every method gives the bits of threads, resumes to them, and sends what is counted',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'dbench-mpi-'));
      try {
        const alone = await found([]);
        const ranks = await found(mpirun('openmpi', 3), folder);
        expect(Object.keys(ranks)).toEqual(methods.map(({ name }) => name));
        for (const [name, { sha, resumed, counted, wire }] of Object.entries(ranks)) {
          expect.soft(sha, name).toBe(alone[name]!.sha);
          if (resumed !== undefined) expect.soft(resumed, `${name}, resumed`).toBe(sha);
          // Rows and compressed messages by themselves, an exact mean by what a ring all-reduce sends, which is what scattering and spreading it sends.
          expect.soft(wire, `${name}: bytes of each step`).toEqual(counted);
        }
        expect(Object.values(ranks).filter(({ resumed }) => resumed !== undefined)).toHaveLength(9);
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  );
});
