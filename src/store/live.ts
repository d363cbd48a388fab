import { appendFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Dispersion, dispersion } from '../base/statistics.ts';
import { type Columns, evaluationColumns, type PerReplica, type Row, stepColumns } from '../engine/columns.ts';
import {
  type Event,
  evaluationRow,
  type LinksEvent,
  type LostEvent,
  type PresenceEvent,
  type StartEvent,
  type StepEvent,
  stepRow,
} from '../engine/event.ts';
import { snake } from './schema.ts';
import { bandNames } from './tidy.ts';
import { readEvents } from './views.ts';

/**
 * What a run tells while it is going on: only one process can have its database open. A file of JSON lines beside it that rank 0 appends
 * to, for others to read as it grows, over any network disk; a last line that is torn is one that is not yet there. Few lines a
 * second, so that it costs the run next to nothing. Removed when the database is closed, which then can be read.
 */
export const liveFile = (folder: string): string => join(folder, 'live.jsonl');

/** Mean, least and largest. */
export type LiveBand = readonly [mean: number | null, min: number | null, max: number | null];
type Reduced<C extends Columns> = {
  readonly [K in keyof C]: C[K]['per'] extends 'replica' ? LiveBand : number | null;
};

/** The steps since the line before, of which `step` is the last, in means. */
export type LiveStep = {
  readonly type: 'step';
  readonly step: number;
  readonly steps: number;
  readonly at: number;
} & Omit<Reduced<typeof stepColumns>, 'step'>;

/** One step, replica by replica. */
export interface LiveReplicas {
  readonly type: 'replicas';
  readonly step: number;
  readonly epoch: number;
  readonly round: number;
  readonly loss: PerReplica;
  readonly accuracy: PerReplica;
  readonly distance: PerReplica | null;
  /** Virtual time at which each had finished; null without a network. */
  readonly finished: PerReplica | null;
  /** Steps of its own; null if all step together. */
  readonly ownSteps: PerReplica | null;
  /** norms[tensor][replica], and how unequal they are; null if they were not probed. Norms of very many are left out. */
  readonly norms: readonly PerReplica[] | null;
  readonly dispersion: readonly Dispersion[] | null;
  readonly edges: { readonly source: PerReplica; readonly replica: PerReplica; readonly distance: PerReplica } | null;
}

export type LiveEvaluation = { readonly type: 'evaluation' } & Row<typeof evaluationColumns>;

/** Messages since the run was started or resumed; told if some did not arrive in time. */
export interface LiveMessages {
  readonly type: 'messages';
  readonly step: number;
  readonly sent: number;
  readonly lost: number;
  readonly late: number;
}

export type LiveLine =
  | (StartEvent & { readonly at: number })
  /** What was told of this step and those after it is about to happen again. */
  | { readonly type: 'rewind'; readonly step: number }
  | LiveStep
  | LiveReplicas
  | LiveEvaluation
  | LostEvent
  | PresenceEvent
  | LiveMessages
  | { readonly type: 'end'; readonly status: string; readonly step: number };

/** So many milliseconds at least are between lines about steps, and about replicas. */
const [stepMs, replicasMs] = [334, 1000];
/** A long run has no more lines than about these times the logarithm of its length. */
const [mostSteps, mostReplicas] = [2000, 600];
/** Of a run's time, for lines about replicas. */
const mostShare = 0.004;
/** More norms in one line than these are left out. */
const mostNorms = 8192;

const powers = Array.from({ length: 16 }, (_, i) => 10 ** i);

/** To six digits, as many as any screen can show; by arithmetic, which is several times faster than by text. */
function rounded(value: number): number {
  const size = Math.abs(value);
  if (size >= 1e15 || Number.isInteger(value)) return value;
  if (size >= 1e5) return Math.round(value);
  if (size < 1e-9) return Number(value.toPrecision(6));
  const power = powers[5 - Math.floor(Math.log10(size))]!;
  return Math.round(value * power) / power;
}

/** The same with all its numbers rounded. */
function shortened(value: unknown): unknown {
  if (typeof value === 'number') return rounded(value);
  if (Array.isArray(value)) return value.map(shortened);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, shortened(part)]));
}

const lineText = (line: LiveLine) => `${JSON.stringify(shortened(line))}\n`;

/** A clock is told as it stands in the end, not on average. */
const isClock = (key: string) => key.startsWith('virtual');

const isBand = (key: string) => (stepColumns as Columns)[key]!.per === 'replica';

/** The mean of values, with the least and the largest, as they come one by one. */
class Running {
  #sum = 0;
  #count = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = Number.NEGATIVE_INFINITY;

  add(value: number | null): void {
    if (value === null) return;
    this.#sum += value;
    this.#count += 1;
    if (value < this.#min) this.#min = value;
    if (value > this.#max) this.#max = value;
  }

  get band(): LiveBand {
    return this.#count === 0 ? [null, null, null] : [this.#sum / this.#count, this.#min, this.#max];
  }
}

/** Steps on their way to one line. */
class Bucket {
  #steps = 0;
  #last: StepEvent | undefined;
  readonly #figures = new Map(Object.keys(stepColumns).map((key) => [key, new Running()]));

  add(event: StepEvent): void {
    this.#steps += 1;
    this.#last = event;
    for (const [key, value] of Object.entries(stepRow(event))) {
      if (isClock(key)) this.#figures.set(key, new Running());
      const figure = this.#figures.get(key)!;
      if (typeof value === 'object' && value !== null) for (const each of value) figure.add(each);
      else figure.add(value);
    }
  }

  line(at: number): LiveStep | undefined {
    if (this.#last === undefined) return undefined;
    const figures = [...this.#figures].map(([key, { band }]) => [key, isBand(key) ? band : band[0]]);
    const { step, epoch } = this.#last;
    return { type: 'step', steps: this.#steps, at, ...Object.fromEntries(figures), step, epoch } as LiveStep;
  }
}

export class LiveLog {
  readonly #path: string;
  readonly #now: () => number;
  #startedMs = Number.NEGATIVE_INFINITY;
  #stepsMs = Number.NEGATIVE_INFINITY;
  #replicasMs = Number.NEGATIVE_INFINITY;
  #bucket = new Bucket();
  /** Waits for what follows of the same step. */
  #replicas: LiveReplicas | undefined;
  #presence: PresenceEvent | undefined;
  #messages = { sent: 0, lost: 0, late: 0 };
  /** What the last line about replicas took: with thousands of them it is worth a moment. */
  #tookMs = 0;
  #failed = false;

  constructor(folder: string, now: () => number = Date.now) {
    this.#path = liveFile(folder);
    this.#now = now;
  }

  /** Of a resumed run: from this step on everything happens again. */
  rewind(step: number): void {
    if (existsSync(this.#path)) this.#write({ type: 'rewind', step });
  }

  append(event: Event): void {
    const now = this.#now();
    if (event.type === 'norms') this.#norms(event.step, event.norms);
    else if (event.type === 'edges') this.#edges(event);
    // Who came and went is told with the steps: it may happen in every one.
    else if (event.type === 'presence') this.#presence = event;
    else {
      this.#flushReplicas();
      if (event.type === 'start') {
        this.#startedMs = now;
        this.#write({ ...event, at: now });
      } else if (event.type === 'step') this.#step(event, now);
      else if (event.type === 'links') this.#links(event);
      else if (event.type !== 'checkpoint') {
        this.#flushSteps(now);
        if (event.type === 'evaluation') this.#write({ type: 'evaluation', ...evaluationRow(event) });
        else if (event.type === 'end') this.#write({ type: 'end', status: event.status, step: event.step });
        else this.#write(event);
      }
    }
  }

  /** When the database can be read again. */
  remove(): void {
    rmSync(this.#path, { force: true });
  }

  /** Whether it is time for another line, the later the rarer. */
  #due(now: number, before: number, leastMs: number, most: number): boolean {
    return now - before >= Math.max(leastMs, (now - this.#startedMs) / most);
  }

  #step(event: StepEvent, now: number): void {
    this.#bucket.add(event);
    if (this.#due(now, this.#stepsMs, stepMs, mostSteps)) this.#flushSteps(now);
    if (!this.#due(now, this.#replicasMs, Math.max(replicasMs, this.#tookMs / mostShare), mostReplicas)) return;
    this.#replicasMs = now;
    const {
      step,
      epoch,
      round,
      loss,
      accuracy,
      replicaDistance: distance,
      virtualFinished: finished,
      ownSteps,
    } = event;
    const nothing = { norms: null, dispersion: null, edges: null };
    this.#replicas = { type: 'replicas', step, epoch, round, loss, accuracy, distance, finished, ownSteps, ...nothing };
  }

  #norms(step: number, norms: readonly PerReplica[]): void {
    if (this.#replicas?.step !== step) return;
    const there = norms.map((all) => all.filter((norm) => norm !== null));
    const few = norms.length * norms[0]!.length <= mostNorms;
    this.#replicas = { ...this.#replicas, norms: few ? norms : null, dispersion: there.map(dispersion) };
  }

  #edges({ step, source, replica, distance }: Extract<Event, { type: 'edges' }>): void {
    if (this.#replicas?.step === step) this.#replicas = { ...this.#replicas, edges: { source, replica, distance } };
  }

  #links({ step, messages, lost, late }: LinksEvent): void {
    const sum = (values: PerReplica) => values.reduce<number>((total, value) => total + (value ?? 0), 0);
    const before = this.#messages;
    this.#messages = {
      sent: before.sent + sum(messages),
      lost: before.lost + sum(lost),
      late: before.late + sum(late),
    };
    if (this.#messages.lost + this.#messages.late > 0) this.#write({ type: 'messages', step, ...this.#messages });
  }

  #flushSteps(now: number): void {
    const line = this.#bucket.line(now);
    if (line === undefined) return;
    this.#write(line);
    if (this.#presence !== undefined) this.#write(this.#presence);
    this.#presence = undefined;
    this.#stepsMs = now;
    this.#bucket = new Bucket();
  }

  #flushReplicas(): void {
    if (this.#replicas === undefined) return;
    const start = performance.now();
    this.#write(this.#replicas);
    this.#tookMs = performance.now() - start;
    this.#replicas = undefined;
  }

  /** Whoever looks on must not end the run: if the disk refuses, the database will say so. */
  #write(line: LiveLine): void {
    if (this.#failed) return;
    try {
      appendFileSync(this.#path, lineText(line));
    } catch {
      this.#failed = true;
    }
  }
}

/** Points of what happened before a run was resumed. */
const mostHistory = 400;

/** Before a run that had ended cleanly is resumed: what its database holds, which nobody can read from then on. */
export async function writeHistory(folder: string, database: string): Promise<void> {
  const path = liveFile(folder);
  if (existsSync(path)) return;
  const lines = await readEvents(database, async ({ rows }) => {
    const [{ count }] = (await rows('select count(*)::integer as count from steps')) as [{ count: number }];
    const every = Math.max(1, Math.ceil(count / mostHistory));
    const figures = Object.keys(stepColumns).flatMap((key) => {
      const { mean, min, max } = bandNames(key);
      if (isClock(key)) return [mean, min, max].map((name) => `max(${name}) as ${name}`);
      if (isBand(key)) return [`avg(${mean}) as ${mean}, min(${min}) as ${min}, max(${max}) as ${max}`];
      return [`${key === 'step' || key === 'epoch' ? 'max' : 'avg'}(${mean}) as ${mean}`];
    });
    const steps = await rows(
      `select count(*)::integer as steps, ${figures} from steps group by step // ${every} order by max(step)`,
    );
    const lists = Object.entries(evaluationColumns).flatMap(([key, { per }]) =>
      per === 'replica' && key !== 'replicas' ? [`list(${snake(key)} order by replica) as ${snake(key)}`] : [],
    );
    const scores = await rows('select * exclude (run) from evaluations order by step');
    const local = await rows(
      `select list(replica order by replica) as replicas, ${lists} from replica_evaluations group by step order by step`,
    );
    return [...steps.map(stepLine), ...scores.map((row, i) => scoreLine({ ...row, ...local[i] }))];
  });
  if (lines !== undefined && lines.length > 0) appendFileSync(path, lines.map(lineText).join(''));
}

type Answered = Readonly<Record<string, unknown>>;

function stepLine(row: Answered): LiveStep {
  const figures = Object.keys(stepColumns).map((key) => {
    const { mean, min, max } = bandNames(key);
    return [key, isBand(key) ? [row[mean], row[min], row[max]] : row[mean]];
  });
  return { type: 'step', steps: row.steps as number, at: 0, ...Object.fromEntries(figures) } as LiveStep;
}

const scoreLine = (row: Answered): LiveEvaluation =>
  ({
    type: 'evaluation',
    ...Object.fromEntries(Object.keys(evaluationColumns).map((key) => [key, row[snake(key)]])),
  }) as unknown as LiveEvaluation;
