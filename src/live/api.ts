import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { z } from 'zod';
import { UserError } from '../base/error.ts';
import { readText } from '../base/file.ts';
import { withoutDefaults } from '../base/schema.ts';
import { plan, planText } from '../experiment/experiment.ts';
import { locate } from '../experiment/files.ts';
import { type Experiment, runSchema, wholeSchema } from '../experiment/schema.ts';
import { extended, parseText, shippedExperiments } from '../experiment/source.ts';
import { type Live, LiveReader } from '../metric/live.ts';
import { buildReport } from '../report/build.ts';
import type { PageData } from '../report/figure/figure.ts';
import { liveNetwork, readNetwork, roundOf, topologiesOf } from '../report/network.ts';
import { picturesOf } from '../report/picture.ts';
import { removeRun } from '../store/house.ts';
import { type RunList, runningLists } from '../store/lists.ts';
import { dealtIn } from '../store/parts.ts';
import { type Run, statusOf, stopFile } from '../store/runs.ts';
import type { Topology } from '../topology/topology.ts';
import type { Catalogue, RunRow } from './catalogue.ts';
import { commandLine, type Jobs, type QueuedJob } from './jobs.ts';

/** What the page may ask for and have done. Every run is named by its id, which is looked up. */

export type Asking = ReadonlyMap<string, string>;

const missing = (id: string) => new UserError(`there is no run "${id.slice(0, 80)}"`);
/** A comparison or sweep that is being carried out. */
export interface ShownList {
  readonly title: string;
  readonly total: number;
  readonly ended: number;
  /** The run that is going on. */
  readonly run: string | null;
  /** Seconds until all of it is done. */
  readonly left: number | null;
}

/** All that the list says. */
export interface Listed {
  readonly root: string;
  readonly runs: readonly RunRow[];
  readonly lists: readonly ShownList[];
  readonly jobs: readonly QueuedJob[];
  readonly readOnly: boolean;
}

/** Runs of one comparison. */
const mostRuns = 64;

export class Api {
  readonly #catalogue: Catalogue;
  readonly #jobs: Jobs;
  readonly #reports = new Map<string, { readonly stamp: string; readonly data: Promise<PageData> }>();
  readonly #topologies = new Map<string, (epoch: number) => Topology>();
  readonly #shares = new Map<string, Promise<unknown>>();
  readonly #readers = new Map<string, LiveReader>();

  constructor(catalogue: Catalogue, jobs: Jobs) {
    this.#catalogue = catalogue;
    this.#jobs = jobs;
  }

  readonly reads: Readonly<Record<string, (query: Asking) => unknown>> = {
    '/api/list': () => this.list(),
    '/api/report': (query) =>
      this.#report((query.get('runs') ?? '').split(',').filter(Boolean), query.get('frames') !== 'no'),
    '/api/network': (query) => this.#network(this.run(query.get('run') ?? '')),
    '/api/round': (query) =>
      this.#round(this.run(query.get('run') ?? ''), whole(query, 'epoch'), whole(query, 'round')),
    '/api/shares': (query) => this.#dealt(this.run(query.get('run') ?? '')),
    '/api/settings': (query) => this.run(query.get('run') ?? '').experiment,
    '/api/recipe': (query) => ({ yaml: recipeOf(this.run(query.get('run') ?? '').experiment) }),
    '/api/schema': () => wholeSchema(),
    '/api/experiments': () => shippedExperiments().map(({ name, description }) => ({ name, description })),
    '/api/experiment': (query) => this.#experiment(query.get('name') ?? ''),
  };

  readonly writes: Readonly<Record<string, (body: unknown) => unknown>> = {
    '/api/check': (body) => {
      const { settings: _, ...told } = checked(z.strictObject({ yaml: z.string() }).parse(body).yaml);
      return told;
    },
    '/api/start': (body) => {
      const { yaml } = z.strictObject({ yaml: z.string() }).parse(body);
      const found = checked(yaml);
      if (this.#jobs.full) throw new UserError('too much is waiting; try again when something has ended');
      const { settings, ...told } = found;
      this.#jobs.start(settings, found.title);
      return told;
    },
    '/api/stop': (body) => {
      const run = this.#named(body);
      if (statusOf(run) !== 'running') throw new UserError(`${run.id} is not running`);
      writeFileSync(stopFile(run), '');
      return {};
    },
    '/api/resume': (body) => {
      const run = this.#named(body);
      const status = statusOf(run);
      if (status !== 'stopped' && status !== 'interrupted')
        throw new UserError(`${run.id} is ${status}: there is nothing to resume`);
      this.#jobs.resume(run.id);
      return {};
    },
    '/api/delete': (body) => {
      const run = this.#named(body);
      if (statusOf(run) === 'running') throw new UserError(`${run.id} is running; stop it first`);
      removeRun(run);
      return {};
    },
    '/api/cancel': (body) => {
      const { job } = z.strictObject({ job: z.string() }).parse(body);
      if (!this.#jobs.cancel(job)) throw new UserError('there is no such job');
      return {};
    },
  };

  run(id: string): Run {
    const found = this.#catalogue.find(id);
    if (found === undefined) throw missing(id);
    return found;
  }

  list(): Omit<Listed, 'readOnly'> {
    const { root } = this.#catalogue;
    const { rows: runs } = this.#catalogue.rows();
    return { root, runs, lists: runningLists(root).map((list) => shownList(list, runs)), jobs: this.#jobs.list };
  }

  /** What is read of a run that is going on is kept for the next question. */
  #live(folder: string): Live | undefined {
    const reader = this.#readers.get(folder) ?? new LiveReader(folder);
    const live = reader.read();
    this.#readers.delete(folder);
    if (live !== undefined) keep(this.#readers, folder, reader, mostRuns);
    return live;
  }

  #named(body: unknown): Run {
    return this.run(z.strictObject({ run: z.string() }).parse(body).run);
  }

  /** What is the same as before is not computed again; several tabs that ask at once get one answer. */
  async #report(ids: readonly string[], frames: boolean): Promise<PageData> {
    if (ids.length > mostRuns) throw new UserError(`at most ${mostRuns} runs can be compared at once`);
    const runs = ids.map((id) => this.run(id));
    const rows = new Map(this.#catalogue.rows().rows.map((row) => [row.id, row]));
    const stamp = JSON.stringify(ids.map((id) => rows.get(id)));
    const key = `${ids.join()} ${frames}`;
    const known = this.#reports.get(key);
    if (known?.stamp === stamp) return known.data;
    const data = buildReport(runs, { mixed: true, frames, live: (folder) => this.#live(folder) }).then((report) => ({
      report,
      pictures: frames ? picturesOf(report) : [],
    }));
    keep(this.#reports, key, { stamp, data }, 8);
    data.catch(() => this.#reports.delete(key));
    return data;
  }

  async #network(run: Run) {
    const live = this.#live(run.folder);
    const options = { most: 300_000, norms: true };
    return {
      network: live === undefined ? await readNetwork(run, options) : liveNetwork(run.experiment, live, options),
    };
  }

  #round(run: Run, epoch: number, round: number) {
    const { id, experiment } = run;
    const topologies = this.#topologies.get(id) ?? topologiesOf(experiment);
    keep(this.#topologies, id, topologies, 16);
    return roundOf(topologies(Math.min(epoch, experiment.epochs - 1)), round);
  }

  /**
   * How many samples of each class every replica has. A run of an earlier version did not write it down, which takes reading the data: by
   * the command that tells it, once.
   */
  #dealt(run: Run): unknown {
    const written = dealtIn(run.folder);
    if (written !== undefined) return written;
    const { data, replicas, seed, batch } = run.experiment;
    const key = JSON.stringify([data, replicas, seed, batch]);
    let known = this.#shares.get(key);
    if (known === undefined) {
      const args = ['data', 'partition', join(run.folder, 'experiment.json'), '--json'];
      const [command, ...first] = commandLine;
      known = promisify(execFile)(command!, [...first, ...args], { maxBuffer: 2 ** 26 }).then(({ stdout }) => {
        const [found] = [JSON.parse(stdout)].flat() as { counts?: unknown; totals?: unknown }[];
        return { counts: found?.counts ?? null, totals: found?.totals ?? null };
      });
      known = known.catch(() => ({ counts: null, totals: null }));
      keep(this.#shares, key, known, 8);
    }
    return known;
  }

  #experiment(name: string) {
    const found = shippedExperiments().find((each) => each.name === name);
    if (found === undefined) throw new UserError('there is no experiment of this name');
    return { yaml: readText(found.path, 'experiment') };
  }
}

/** An experiment as one would write it: what differs from the defaults. */
const recipeOf = (experiment: Experiment): string =>
  stringify(withoutDefaults(runSchema, experiment), { flowCollectionPadding: true, collectionStyle: 'any' });

/** As the newest; the oldest goes if there are more than `most`. */
function keep<V>(known: Map<string, V>, key: string, value: V, most: number): void {
  known.delete(key);
  known.set(key, value);
  if (known.size > most) known.delete(known.keys().next().value!);
}

/** How long the rest will take, going by the runs that are done. */
function shownList(list: RunList, runs: readonly RunRow[]): ShownList {
  const { title, total, ended, timed, seconds, run } = list;
  const left = runs.find(({ id }) => id === run)?.left ?? 0;
  const after = total - ended - (run === null ? 0 : 1);
  return { title, total, ended, run, left: timed === 0 ? null : left + (after * seconds) / timed };
}

function whole(query: Asking, name: string): number {
  const value = Number(query.get(name) ?? '');
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new UserError(`${name} must be a whole number from 0`);
}

/** Checks an experiment as the command would; files it names count from where the server was started. */
function checked(yaml: string): { readonly title: string; readonly runs: number; readonly settings: unknown } {
  const folder = process.cwd();
  const data = extended(locate(parseText(yaml, 'experiment'), folder), 'experiment', folder);
  const planned = plan(data, 'experiment', { hashData: false });
  return { title: planText(planned, 4), runs: planned.length, settings: data };
}
