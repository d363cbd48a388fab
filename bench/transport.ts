/**
 * Messages between two ranks against a C program that does the same with the same library, in turn:
 *
 *     npm run build && npx tsx bench/transport.ts [--model resnet20] [--rounds 5]
 *
 * Needs mpicc and mpirun of Open MPI or MPICH (Debian: libopenmpi-dev, libmpich-dev); each that is there is measured.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { TransportFigures } from '../src/bench/transport.ts';
import { table } from '../src/cli/print.ts';

interface Yardstick {
  readonly latencyUs: number;
  readonly exchangeMs: number;
  readonly gigabytesPerSecond: number;
  readonly allreduceMs: number;
  readonly callNs: number;
}

const { values } = parseArgs({
  options: {
    model: { type: 'string', default: 'resnet20' },
    rounds: { type: 'string', default: '5' },
    repetitions: { type: 'string', default: '300' },
  },
});
const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const env = { ...process.env, OMPI_ALLOW_RUN_AS_ROOT: '1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1' };
const run = (program: string, ...args: string[]) =>
  execFileSync(program, args, { encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'inherit'] });

const libraries = ['openmpi', 'mpich'].filter((name) => {
  try {
    execFileSync('sh', ['-c', `command -v mpicc.${name} && command -v mpirun.${name}`]);
    return true;
  } catch {
    console.error(`no mpicc.${name} or mpirun.${name}: left out`);
    return false;
  }
});

/** The best of each: other programs only ever add to it. */
const least = (numbers: readonly number[]) => Math.min(...numbers);

const folder = mkdtempSync(join(tmpdir(), 'dbench-transport-'));
try {
  for (const library of libraries) {
    const program = join(folder, library);
    run(`mpicc.${library}`, '-O2', '-Wno-stringop-overflow', '-o', program, here('transport.c'));
    const launch = library === 'openmpi' ? ['--bind-to', 'none', '-n', '2'] : ['-n', '2'];
    const ours: TransportFigures[] = [];
    const theirs: Yardstick[] = [];
    for (let round = 0; round < Number(values.rounds); round++) {
      const bench = ['bench', 'transport', '--model', values.model, '--repetitions', values.repetitions, '--json'];
      ours.push(
        JSON.parse(run(`mpirun.${library}`, ...launch, process.execPath, here('../dist/cli/main.js'), ...bench)),
      );
      theirs.push(
        JSON.parse(run(`mpirun.${library}`, ...launch, program, String(ours[0]!.parameters), values.repetitions)),
      );
    }
    const row = (name: string, unit: string, c: (y: Yardstick) => number, own: (f: TransportFigures) => number) => {
      const [there, here] = [least(theirs.map(c)), least(ours.map(own))];
      return [name, unit, there.toPrecision(3), here.toPrecision(3), (there / here).toFixed(2)];
    };
    console.log(
      `${ours[0]!.transport}, ${values.model}, ${ours[0]!.parameters} floats, best of ${values.rounds} in turn\n`,
    );
    console.log(
      table(
        ['', 'unit', 'C', 'DBench', 'C / DBench'],
        [
          row(
            'message one way, 4 B',
            'µs',
            (y) => y.latencyUs,
            (f) => f.latencyUs,
          ),
          row(
            'exchange of a row',
            'ms',
            (y) => y.exchangeMs,
            (f) => f.exchanges.at(-1)!.ms,
          ),
          row(
            'mean (C: MPI_Allreduce)',
            'ms',
            (y) => y.allreduceMs,
            (f) => f.meanMs,
          ),
          row(
            'one call',
            'ns',
            (y) => y.callNs,
            (f) => f.callNs,
          ),
        ],
      ),
      '\n',
    );
  }
} finally {
  rmSync(folder, { recursive: true });
}
