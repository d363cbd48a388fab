import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { small } from '../engine/runs.ts';
import { dbench, type LibraryName, main, mpirun, needingMpi, processOf, run, shasOf } from './launch.ts';

let folder: string;
let sha: Record<string, string>;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-mpi-'));
  // Long enough to be killed in the middle.
  const settings = { ...small, epochs: 60, data: { ...small.data, train: 2880 }, evaluation: { everyEpochs: 60 } };
  writeFileSync(join(folder, 'long.yaml'), JSON.stringify(settings));
  sha = shasOf(await dbench(['run', 'long.yaml', '--json'], folder));
}, 300_000);
afterAll(() => rmSync(folder, { recursive: true }));

const hasCheckpoint = (runs: string) =>
  existsSync(join(folder, runs)) &&
  readdirSync(join(folder, runs)).some((id) => {
    const checkpoints = join(folder, runs, id, 'checkpoints');
    return existsSync(checkpoints) && readdirSync(checkpoints).some((name) => /^step-\d+$/.test(name));
  });

/** Kills rank 1 once there is a checkpoint; when that was. */
function killer(runs: string): { meanwhile(): boolean; at(): number } {
  let killedAt = 0;
  return {
    meanwhile() {
      const victim = hasCheckpoint(runs) ? processOf(1, folder, runs) : undefined;
      if (victim === undefined) return false;
      process.kill(victim, 'SIGKILL');
      killedAt = performance.now();
      return true;
    },
    at: () => killedAt,
  };
}

const libraries: readonly LibraryName[] = ['openmpi', 'mpich'];
/** Where an interrupted run goes on: threads, and another number of ranks. */
const elsewhere = { openmpi: [], mpich: mpirun('mpich', 2) };

describe('a rank that is killed', () => {
  for (const library of libraries)
    needingMpi(library)(
      `takes the job down at once; the run goes on elsewhere to the same bits (${library})`,
      async () => {
        const runs = `killed-${library}`;
        const kill = killer(runs);
        const command = [...mpirun(library, 3), process.execPath, main, 'run', 'long.yaml', '--runs', runs];
        const { status, stdout, stderr } = await run(command, folder, kill);
        const seconds = (performance.now() - kill.at()) / 1000;
        expect(kill.at()).toBeGreaterThan(0);
        expect(status).not.toBe(0);
        // On a machine with nothing else to do: Open MPI 2 s, MPICH 0.1 s.
        expect(seconds).toBeLessThan(5);
        const told = stdout + stderr;
        const ranks = /^ranks 0–2 on \S+, processes (\d+) (\d+) (\d+)$/m.exec(told)!;
        if (library === 'openmpi') expect(told).toMatch(/process rank 1 with PID \d+ on node \S+ exited on signal 9/);
        // On a busy machine MPICH's launcher may name one of those that it ended itself.
        else expect(told).toMatch(new RegExp(`PID (${ranks.slice(1).join('|')}) RUNNING AT`));
        const [id] = readdirSync(join(folder, runs));
        const resumed = await dbench(['run', '--resume', id!, '--runs', runs, '--json'], folder, elsewhere[library]);
        expect(shasOf(resumed)).toEqual(sha);
      },
    );

  needingMpi('mpich')('is named and the ranks are started again with --launch and --retries', async () => {
    const kill = killer('retried');
    const launch = mpirun('mpich', 3).join(' ');
    const args = ['run', 'long.yaml', '--runs', 'retried', '--json', '--launch', launch, '--retries', '1'];
    const ended = await run([process.execPath, main, ...args], folder, kill);
    expect(ended.stderr).toMatch(/rank \d on \S+ \(process \d+\) ended with code 9\n.*starting them again \(1 of 1\)/);
    expect(shasOf(ended)).toEqual(sha);
    expect(readdirSync(join(folder, 'retried'))).toHaveLength(1);
  });
});

describe('a rank that ends early', () => {
  for (const library of libraries)
    needingMpi(library)(`never looks like success (${library})`, async () => {
      const world = new URL('../../dist/transport/mpi/world.js', import.meta.url).href;
      const script = `const { openMpi } = await import('${world}'); const { rank } = await openMpi(60); if (rank === 1) process.exit(0); await new Promise((r) => setTimeout(r, 30000));`;
      const start = performance.now();
      const { status } = await run(
        [...mpirun(library, 2), process.execPath, '--input-type=module', '-e', script],
        folder,
      );
      expect(status).not.toBe(0);
      expect(performance.now() - start).toBeLessThan(25_000);
    });
});

describe('what cannot be is said in a sentence', () => {
  for (const library of libraries)
    needingMpi(library)(`more ranks than replicas (${library})`, async () => {
      const args = ['run', 'long.yaml', '--set', 'replicas=2', '--runs', 'none'];
      const { status, stderr } = await dbench(args, folder, mpirun(library, 3));
      expect(status).toBe(2);
      expect(stderr).toContain('dbench: 3 processes were started for 2 replicas\nhint: start at most 2');
      expect(stderr).not.toContain('    at ');
      expect(existsSync(join(folder, 'none'))).toBe(false);
    });

  needingMpi('mpich')('a library that is not the launcher’s', async () => {
    const command = [...mpirun('mpich', 2), process.execPath, main, 'run', 'long.yaml', '--runs', 'none'];
    const { status, stderr } = await run(command, folder, { env: { DBENCH_MPI: 'libmpi.so.40' } });
    expect(status).toBe(2);
    expect(stderr).toMatch(/mpirun of MPICH started 2 processes, but Open MPI \S+ \(libmpi.so.40\) sees 1/);
  });

  needingMpi('openmpi')('threads for several processes', async () => {
    const args = ['run', 'long.yaml', '--transport', 'threads', '--runs', 'none'];
    const { status, stderr } = await dbench(args, folder, mpirun('openmpi', 2));
    expect(status).toBe(2);
    expect(stderr).toContain('started 2 processes, but threads use one');
  });

  it('no library, while nothing else needs one', async () => {
    const env = { DBENCH_MPI: 'libabsent.so' };
    const command = [process.execPath, main, 'run', 'long.yaml', '--set', 'epochs=1', '--runs', 'none'];
    const asked = await run([...command, '--transport', 'mpi'], folder, { env });
    expect(asked.status).toBe(2);
    expect(asked.stderr).toBe(
      'dbench: no MPI library was found (looked for libabsent.so)\nhint: on Debian: apt-get install openmpi-bin, or mpich; for another place set DBENCH_MPI to the library file\n',
    );
    expect((await run(command, folder, { env })).status).toBe(0);
    const doctor = await run([process.execPath, main, 'doctor'], folder, { env });
    expect([doctor.status, doctor.stdout]).toEqual([0, expect.stringContaining('no MPI library was found')]);
  });

  it('no koffi, which is optional', async () => {
    const hide = `import Module from 'node:module';
      const resolve = Module._resolveFilename;
      Module._resolveFilename = (name, ...rest) => resolve(name.includes('koffi') ? 'absent' : name, ...rest);`;
    const asked = ['run', 'long.yaml', '--transport', 'mpi', '--runs', 'none'];
    const command = [process.execPath, '--import', `data:text/javascript,${encodeURIComponent(hide)}`, main, ...asked];
    const { status, stderr } = await run(command, folder);
    expect([status, stderr]).toEqual([
      2,
      expect.stringMatching(/^dbench: C libraries cannot be called .*\nhint: .*koffi-\S+\n$/),
    ]);
  });

  it('retries without a launcher', async () => {
    const { status, stderr } = await dbench(['run', 'long.yaml', '--retries', '2'], folder);
    expect([status, stderr]).toEqual([2, expect.stringContaining('--launch "mpirun -n 4" --retries 3')]);
  });
});
