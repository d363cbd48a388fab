/**
 * Runs that go on without a rank that is lost, with the MPI library and launcher given. Ranks end themselves with SIGKILL before each
 * kind of exchange, and what the others compute from then on is compared with float64 sums; then one is killed in the middle of a
 * training run. Needs a launcher that lets ranks survive, four of them, and the built package:
 *
 *     npm run build && npx tsx scripts/check-survive.ts "mpirun --with-ft ulfm -n 4"
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findRun, readResult } from '../src/store/runs.ts';
import { readEvents } from '../src/store/views.ts';
import type { Mixing } from '../src/topology/mixing.ts';
import { buildTopology } from '../src/topology/topology.ts';
import { openMpi } from '../src/transport/mpi/world.ts';
import { shareTransport } from '../src/transport/shared.ts';
import { openTransport } from '../src/transport/threads.ts';

const [replicas, columns, steps, dyingStep, timeoutSeconds] = [16, 5000, 12, 4, 60];
const exchanges = ['mix', 'mean', 'gather', 'reduce', 'broadcast', 'barrier'] as const;

function assert(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

/** W x among those that are there, from the definition: the weights of lost replicas go to the own one. */
function mixed({ start, source, weight }: Mixing, x: Float64Array[], there: ReadonlySet<number>): Float64Array[] {
  return x.map((own, i) => {
    if (!there.has(i)) return own;
    const out = new Float64Array(columns);
    for (let e = start[i]!; e < start[i + 1]!; e++) {
      const row = there.has(source[e]!) ? x[source[e]!]! : own;
      for (let c = 0; c < columns; c++) out[c]! += weight[e]! * row[c]!;
    }
    return out;
  });
}

function meanOf(x: readonly Float64Array[], there: ReadonlySet<number>): Float64Array {
  return Float64Array.from(
    { length: columns },
    (_, c) => [...there].reduce((sum, i) => sum + x[i]![c]!, 0) / there.size,
  );
}

/** One rank: all of them mix, and from `dyingStep` on without the victim, which ends itself before the given exchange. */
async function rank(victims: readonly number[], dyingBefore: string): Promise<void> {
  const world = await openMpi({ timeoutSeconds, survive: true });
  const transport = await openTransport(shareTransport(1, replicas, columns, { place: world.place }), 0);
  const kinds = ['ring', 'exponential', 'complete'].map((kind) => buildTopology({ kind }, replicas, 1));
  let [input, output] = [transport.rows('current'), transport.rows('spare')];
  let x: Float64Array[] = Array.from({ length: replicas }, (_, i) =>
    Float64Array.from({ length: columns }, (_, c) => Math.sin(i + c)),
  );
  for (let i = transport.first; i < transport.last; i++) input.write(i, Float32Array.from(x[i]!));
  const own = Array.from({ length: transport.last - transport.first }, (_, i) => transport.first + i);
  const there = () => new Set(transport.present);
  let worst = 0;
  const compare = (got: Float32Array, wanted: Float64Array) =>
    wanted.forEach((value, c) => {
      worst = Math.max(worst, Math.abs(value - got[c]!));
      if (Number.isNaN(got[c]!)) worst = Number.NaN;
    });
  const row = new Float32Array(columns);
  let died = false;
  for (let step = 0; step < steps; step++)
    for (const exchange of exchanges) {
      if (step === dyingStep && exchange === dyingBefore) {
        if (victims.includes(world.rank)) process.kill(process.pid, 'SIGKILL');
        died = true;
      }
      if (exchange === 'mix') {
        const mixing = kinds[step % kinds.length]!.mixing(step);
        transport.mix(mixing, input, output);
        x = mixed(mixing, x, there());
        [input, output] = [output, input];
        for (const i of own) {
          input.read(i, row);
          compare(row, x[i]!);
        }
      } else if (exchange === 'mean') {
        transport.mean(input).read(0, row);
        compare(row, meanOf(x, there()));
      } else if (exchange === 'gather') {
        const all = transport.gather(Float64Array.from(own), 1);
        for (const [i, value] of all.entries())
          assert(there().has(i) ? value === i : Number.isNaN(value), `gathered ${value} of ${i}`);
      } else if (exchange === 'reduce') {
        const [count] = transport.reduce([1]);
        assert(count === world.size - transport.lost.length, `${count} ranks counted`);
      } else if (exchange === 'broadcast')
        assert(
          transport.broadcast(world.rank === 0 ? step + 0.5 : 0) === step + 0.5,
          'another word than that of rank 0',
        );
      else transport.barrier();
      const lost = transport.lost.map(({ rank }) => rank);
      assert(lost.join() === (died ? victims.join() : ''), `lost are ${lost}, died: ${died}`);
    }
  assert(worst < 1e-5, `off by ${worst}`);
  transport.close();
  if (world.rank === 0) console.log(`  ${dyingBefore}: the others agree with float64 within ${worst.toExponential(1)}`);
  await world.close(died);
}

interface Job {
  readonly code: number | null;
  readonly told: string;
}

/** Starts ranks under the launcher; `watch` sees all they have told so far. */
function launched(launcher: string, args: readonly string[], watch: (told: string) => void = () => {}): Promise<Job> {
  return new Promise((done) => {
    const child = spawn('sh', ['-c', `${launcher} "$@"`, 'sh', process.execPath, ...args]);
    let told = '';
    const tell = (chunk: Buffer) => {
      told += chunk.toString('utf8');
      watch(told);
    };
    child.stdout.on('data', tell);
    child.stderr.on('data', tell);
    child.on('close', (code) => done({ code, told }));
  });
}

const experiment = {
  name: 'survive',
  replicas: 12,
  data: { kind: 'synthetic' },
  model: { kind: 'mlp', hidden: [32] },
  batch: 8,
  epochs: 8,
  learningRate: { base: 0.02 },
  topology: { kind: 'ring' },
  probes: { everySteps: 1 },
};

/** A training run whose rank 1 is killed after the first evaluation. */
async function trainingRun(launcher: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'survive-'));
  try {
    const file = join(folder, 'experiment.json');
    writeFileSync(file, JSON.stringify(experiment));
    const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
    let victim: number | undefined;
    const args = [main, 'run', file, '--survive', '--workers', '2', '--runs', join(folder, 'runs')];
    const { code, told } = await launched(launcher, args, (told) => {
      if (victim !== undefined || !told.includes('epoch 1/')) return;
      victim = Number(/processes \d+ (\d+)/.exec(told)![1]);
      process.kill(victim, 'SIGKILL');
    });
    assert(code === 0, `the training run ended with code ${code}\n${told}`);
    const run = findRun(join(folder, 'runs'), readdirSync(join(folder, 'runs'))[0]!);
    const { status, reason, lost } = readResult(run)!;
    assert(
      status === 'complete' && lost?.length === 1 && lost[0]!.rank === 1,
      `${status}, lost ${JSON.stringify(lost)}`,
    );
    const asked = (sql: string) => readEvents(run.database, ({ rows }) => rows(sql));
    const last = (await asked('from replica_steps where step = (select max(step) from steps) order by replica'))!;
    const missing = last.flatMap(({ loss }, i) => (loss === null ? [i] : []));
    assert(missing.join() === lost![0]!.replicas.join(), `without a loss are ${missing}`);
    const [final] = (await asked('from evaluations order by step desc limit 1'))!;
    assert(final!.replicas === 12 - missing.length, 'the lost replicas are evaluated');
    assert(Number.isFinite(final!.merged_loss), 'the average of the others is not evaluated');
    return reason!;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function main(launcher: string): Promise<void> {
  const self = [...process.execArgv, fileURLToPath(import.meta.url)];
  for (const victims of ['2', '1,3']) {
    console.log(`ranks that end themselves: ${victims}, before`);
    for (const exchange of exchanges) {
      const { code, told } = await launched(launcher, [...self, '--rank', victims, exchange]);
      assert(code === 0, `${exchange}: the job ended with code ${code}\n${told}`);
      console.log(told.split('\n').find((line) => line.startsWith(`  ${exchange}`)) ?? told);
    }
  }
  const { code, told } = await launched(launcher, [...self, '--rank', '0', 'mix']);
  assert(code !== 0 && told.includes('has lost rank 0'), `without rank 0 the job ended with code ${code}\n${told}`);
  console.log(`without rank 0 the job ends with code ${code}`);
  console.log(`a training run completes: ${await trainingRun(launcher)}`);
}

const [first, ...rest] = process.argv.slice(2);
if (first === undefined) throw new Error('the launcher is missing, as in "mpirun --with-ft ulfm -n 4"');
else if (first === '--rank') await rank(rest[0]!.split(',').map(Number), rest[1]!);
else await main(first);
