import { lstatSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { factsOf } from '../algorithm/facts.ts';
import { UserError } from '../base/error.ts';
import type { Experiment } from '../experiment/schema.ts';
import { type ScoreName, scoreOf } from '../metric/score.ts';
import { liveFile } from '../store/live.ts';
import { hostOf, openRun, type Run, readContext, readResult, type Status, statusOf, stepsKept } from '../store/runs.ts';
import { type RunFigures as Figures, storedFigures, Tail, unknownFigures as unknown } from './tail.ts';

/** One line of the list of runs. */
export interface RunRow {
  readonly id: string;
  readonly name: string;
  /** Runs that differ in nothing but their seed have the same. */
  readonly group: string;
  readonly seed: number;
  readonly replicas: number;
  readonly task: string;
  readonly method: string;
  /** In few words: ring, ada 32→8. */
  readonly topology: string;
  readonly status: Status;
  readonly startedAt: string;
  /** The other machine that is writing it. */
  readonly host: string | null;
  readonly reason: string | null;
  readonly step: number;
  readonly steps: number | null;
  readonly epochs: number;
  readonly seconds: number | null;
  /** Seconds until it will have ended. */
  readonly left: number | null;
  /** What it is judged by, on the test set: accuracy, or the error where numbers are predicted. */
  readonly scoreName: ScoreName;
  readonly score: number | null;
  /** The score at the evaluations, at most a few. */
  readonly curve: readonly number[];
  readonly stopping: boolean;
}

interface Known {
  readonly run: Run;
  readonly startedAt: string;
  readonly group: string;
  lookedMs: number;
  /** Of the folder's own files: what is unchanged is not read again. */
  stamp: string;
  row: RunRow;
  figures: Figures;
  /** What the figures were read from. */
  source: string;
}

/** Runs that have ended are looked at again after so long. */
const rareMs = 5000;
const isEnded = (row: RunRow | undefined) => row?.status === 'complete' || row?.status === 'diverged';

/** When files were written; nothing for those that are not there. */
const stampOf = (folder: string, names: readonly string[]) =>
  names.map((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? '').join();

const groupOf = ({ seed: _, description: __, ...settings }: Experiment) => JSON.stringify(settings);

/** Follows the runs of a folder. Ids are looked up here, never joined to a path; links are left out, which could lead anywhere. */
export class Catalogue {
  readonly root: string;
  readonly #known = new Map<string, Known>();
  readonly #tails = new Map<string, Tail>();
  readonly #groups = new Map<string, string>();
  #reading: Promise<void> | undefined;

  constructor(root: string) {
    this.root = root;
  }

  find(id: string): Run | undefined {
    const known = this.#known.get(id) ?? this.#scan().get(id);
    return known?.run;
  }

  /** All runs, the newest first. What takes longer than a moment is filled in later: `ready` tells when. */
  rows(): { readonly rows: readonly RunRow[]; readonly ready: Promise<void> } {
    const rows = [...this.#scan().values()].map((known) => known.row);
    rows.sort((a, b) => b.startedAt.localeCompare(a.startedAt));
    this.#reading ??= this.#read()
      .catch((error) => console.error(error))
      .finally(() => {
        this.#reading = undefined;
      });
    return { rows, ready: this.#reading };
  }

  #scan(): Map<string, Known> {
    const names = readNames(this.root);
    const now = performance.now();
    for (const id of this.#known.keys()) if (!names.has(id)) this.#forget(id);
    for (const id of names) {
      const known = this.#known.get(id) ?? this.#open(id);
      // What has ended rarely changes, and there may be many on a slow disk.
      if (known === undefined || (isEnded(known.row) && now - known.lookedMs < rareMs)) continue;
      known.lookedMs = now;
      this.#unlessDamaged(id, () => this.#look(known));
    }
    return this.#known;
  }

  #look(known: Known): void {
    const status = statusOf(known.run);
    const stamp = `${status} ${stampOf(known.run.folder, ['result.json', 'stop', 'lock'])}`;
    if (status === 'running') known.figures = this.#tail(known.run).figures();
    if (stamp !== known.stamp || status === 'running') known.row = rowOf(known, status);
    known.stamp = stamp;
  }

  /** A run whose files cannot be read is left out, until they can. */
  #unlessDamaged<T>(id: string, read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      // Damaged, or being made or removed at this moment.
      if (!(error instanceof UserError)) throw error;
      this.#forget(id);
      return undefined;
    }
  }

  #forget(id: string): void {
    this.#known.delete(id);
    this.#tails.delete(id);
  }

  #open(id: string): Known | undefined {
    return this.#unlessDamaged(id, () => {
      const run = openRun(this.root, id);
      const { startedAt } = readContext(run);
      const key = groupOf(run.experiment);
      const group = this.#groups.get(key) ?? String(this.#groups.size);
      this.#groups.set(key, group);
      const known = {
        run,
        startedAt,
        group,
        stamp: '',
        figures: unknown,
        source: '',
        lookedMs: Number.NEGATIVE_INFINITY,
      } as unknown as Known;
      this.#known.set(id, known);
      return known;
    });
  }

  #tail(run: Run): Tail {
    const tail = this.#tails.get(run.id) ?? new Tail(liveFile(run.folder), scoreOf(run.experiment));
    this.#tails.set(run.id, tail);
    return tail;
  }

  /** The figures of runs that have ended, from their databases, one after the other, the newest first. */
  async #read(): Promise<void> {
    for (const known of [...this.#known.values()].sort((a, b) => b.startedAt.localeCompare(a.startedAt))) {
      const { run, row } = known;
      if (row.status === 'running') continue;
      this.#tails.delete(run.id);
      const source = stampOf(run.folder, ['events.duckdb', 'result.json']);
      if (source === known.source) continue;
      known.source = source;
      known.figures = (await storedFigures(run)) ?? known.figures;
      this.#unlessDamaged(run.id, () => {
        known.row = rowOf(known, statusOf(run));
      });
    }
  }
}

function readNames(root: string): Set<string> {
  try {
    const entries = readdirSync(root, { withFileTypes: true });
    const runs = entries.filter((entry) => entry.isDirectory() && isFile(join(root, entry.name, 'experiment.json')));
    return new Set(runs.map(({ name }) => name));
  } catch {
    return new Set();
  }
}

const isFile = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;

function rowOf({ run, startedAt, group, figures }: Known, status: Status): RunRow {
  const { experiment, id, folder } = run;
  const ended = status === 'running' || status === 'interrupted' ? undefined : readResult(run);
  const running = status === 'running';
  return {
    id,
    name: experiment.name,
    group,
    seed: experiment.seed,
    replicas: experiment.replicas,
    task: `${experiment.model.kind} on ${experiment.data.kind}`,
    method: experiment.algorithm.kind,
    topology: topologyText(experiment),
    status,
    startedAt,
    host: hostOf(run) ?? null,
    reason: ended?.reason ?? null,
    step: ended?.step ?? (running ? figures.step : Math.max(figures.step, stepsKept(run))),
    steps: status === 'complete' ? (ended?.step ?? null) : figures.steps,
    epochs: experiment.epochs,
    seconds: ended?.seconds ?? null,
    left: running ? figures.left : null,
    scoreName: scoreOf(experiment),
    score: figures.curve.at(-1) ?? null,
    curve: figures.curve,
    stopping: running && isFile(join(folder, 'stop')),
  };
}

/** Whether all average with all; of each algorithm found out once. */
const centralized = new Map<string, boolean>();
function isCentralized({ algorithm }: Experiment): boolean {
  const key = JSON.stringify(algorithm);
  const found = centralized.get(key) ?? !factsOf(algorithm).usesTopology;
  centralized.set(key, found);
  return found;
}

/** The topology with the numbers that tell it from others of its kind. */
function topologyText(experiment: Experiment): string {
  if (isCentralized(experiment)) return 'all together';
  const { kind, ...settings } = experiment.topology as Readonly<Record<string, unknown>> & { readonly kind: string };
  if (kind === 'ada') return `ada ${settings.k0}→${settings.kEnd ?? settings.kMin}`;
  const said = Object.entries(settings).filter(([, value]) => typeof value === 'number');
  return [kind, ...said.map(([key, value]) => `${key}=${value}`)].join(' ');
}
