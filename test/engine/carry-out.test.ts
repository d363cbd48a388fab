import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Carried, CarryOutOptions } from '../../src/carry-out.ts';
import { plan } from '../../src/experiment/experiment.ts';
import { dbench, small } from './runs.ts';

const index = new URL('../../dist/index.js', import.meta.url).href;
const { carryOut } = (await import(index)) as typeof import('../../src/index.ts');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-carry-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

async function carry(settings: object, options: Omit<CarryOutOptions, 'root'> = {}) {
  const events: Carried[] = [];
  const planned = plan({ ...small, epochs: 1, ...settings }, 'test');
  for await (const event of carryOut(planned, { root: folder, workers: 1, ...options })) events.push(event);
  return {
    begun: events.flatMap((event) => (event.type === 'begin' ? [event.index] : [])),
    outcomes: events.flatMap((event) => (event.type === 'outcome' ? [event.outcome] : [])),
  };
}

it('a program carries out a sweep; what fails keeps nothing else from running, and what is done is left alone', async () => {
  // That a batch is larger than all a replica has shows only with the data.
  const sweep = { batch: [8, 1000, 16] };
  const first = await carry({ sweep });
  expect(first.begun).toEqual([0, 1, 2]);
  expect(first.outcomes.map(({ run, failure }) => [run !== undefined, failure === undefined])).toEqual([
    [true, true],
    [false, false],
    [true, true],
  ]);
  const second = await carry({ sweep });
  expect(second.begun).toEqual([1]);
  expect(second.outcomes.map(({ run }) => run?.id)).toEqual(first.outcomes.map(({ run }) => run?.id));
  expect((await carry({ sweep: { batch: [8] } }, { earlier: () => undefined })).outcomes[0]!.run!.id).toBe(
    `${first.outcomes[0]!.run!.id}-2`,
  );
});

it('what was stopped before it began is an outcome without a run', async () => {
  const { begun, outcomes } = await carry({ sweep: { seed: [1, 2] } }, { signal: AbortSignal.abort() });
  expect(begun).toEqual([]);
  expect(outcomes.map(({ run, failure }) => [run, failure])).toEqual(Array(2).fill([undefined, undefined]));
});

it('dbench run --continue resumes and starts what is left, to the same bits, and then finds nothing to do', async () => {
  const compare = [{ name: 'first' }, { name: 'second', topology: { kind: 'complete' } }];
  const settings = { ...small, epochs: 15, compare, evaluation: { everyEpochs: 15 } };
  writeFileSync(join(folder, 'two.json'), JSON.stringify(settings));
  const whole = await dbench(['run', 'two.json', '--runs', 'whole', '--json'], folder);
  const args = ['run', 'two.json', '--continue', '--json'];
  const runs = join(folder, 'runs');
  const cut = await dbench(args, folder, () =>
    existsSync(runs) && readdirSync(runs).length > 0 ? 'SIGINT' : undefined,
  );
  expect([cut.status, JSON.parse(cut.stdout).map((row: { status: string }) => row.status)]).toEqual([
    130,
    ['stopped', 'pending'],
  ]);
  const finished = await dbench(args, folder);
  expect([finished.status, finished.stderr]).toEqual([
    0,
    expect.stringContaining('2 runs: 0 done before, 1 to resume, 1 to start'),
  ]);
  const shas = (stdout: string) => JSON.parse(stdout).map((row: { paramsSha256: string }) => row.paramsSha256);
  expect(shas(finished.stdout)).toEqual(shas(whole.stdout));
  expect(await dbench(args, folder)).toMatchObject({ status: 0, stdout: finished.stdout });
  expect(readdirSync(runs)).toHaveLength(2);
});
