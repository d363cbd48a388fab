import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { parseJson } from '../base/file.ts';
import { mean } from '../base/statistics.ts';
import { type Columns, evaluationColumns, type PerReplica, phases, stepColumns } from '../engine/columns.ts';
import type { LostEvent, StartEvent } from '../engine/event.ts';
import {
  type LiveBand,
  type LiveEvaluation,
  type LiveLine,
  type LiveReplicas,
  type LiveStep,
  liveFile,
} from '../store/live.ts';
import { type BandSeries, type RunSeries, type Series, statistics } from './series.ts';

/** Lines of a file from a byte on, and where the next one will begin; undefined if the file is gone. */
export interface LiveText {
  readonly lines: readonly string[];
  readonly next: number;
}

/** At most so much at once. */
const mostBytes = 8 * 2 ** 20;

/** Whole lines only: the last may be torn. Not through links, which could lead anywhere. */
export function readLines(path: string, from: number, most = mostBytes): LiveText | undefined {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch {
    return undefined;
  }
  try {
    const { size } = fstatSync(file);
    // It was begun anew.
    const start = from > size ? 0 : from;
    const bytes = Buffer.alloc(Math.min(size - start, most));
    const length = readSync(file, bytes, 0, bytes.length, start);
    const end = bytes.lastIndexOf(10, length - 1) + 1;
    const text = bytes.toString('utf8', 0, end);
    return { lines: text === '' ? [] : text.slice(0, -1).split('\n'), next: start + end };
  } finally {
    closeSync(file);
  }
}

/** What the lines say together. */
export interface Live {
  readonly start: (StartEvent & { readonly at: number }) | undefined;
  readonly steps: readonly LiveStep[];
  readonly replicas: readonly LiveReplicas[];
  readonly evaluations: readonly LiveEvaluation[];
  readonly lost: readonly LostEvent[];
}

const types = new Set(['start', 'rewind', 'step', 'replicas', 'evaluation', 'lost', 'presence', 'messages', 'end']);

export function parseLine(text: string): LiveLine | undefined {
  const line = parseJson(text) as LiveLine | undefined;
  return line !== null && typeof line === 'object' && types.has(line.type) ? line : undefined;
}

/** Reads a live file as it grows: what was read is not read again, and what a rewind takes back is forgotten. */
export class LiveReader {
  readonly #path: string;
  #next = 0;
  #start: Live['start'];
  #steps: LiveStep[] = [];
  #replicas: LiveReplicas[] = [];
  #evaluations: LiveEvaluation[] = [];
  #lost: LostEvent[] = [];

  constructor(folder: string) {
    this.#path = liveFile(folder);
  }

  /** All until now; undefined if there is no such file. */
  read(): Live | undefined {
    for (;;) {
      const text = readLines(this.#path, this.#next);
      if (text === undefined) return undefined;
      if (text.next < this.#next) this.#take({ type: 'rewind', step: -1 });
      const more = text.next !== this.#next;
      this.#next = text.next;
      for (const each of text.lines) {
        const line = parseLine(each);
        if (line !== undefined) this.#take(line);
      }
      if (!more) return this.#all;
    }
  }

  get #all(): Live {
    return {
      start: this.#start,
      steps: this.#steps,
      replicas: this.#replicas,
      evaluations: this.#evaluations,
      lost: this.#lost,
    };
  }

  #take(line: LiveLine): void {
    if (line.type === 'start') this.#start = line;
    else if (line.type === 'step') this.#steps.push(line);
    else if (line.type === 'replicas') this.#replicas.push(line);
    else if (line.type === 'evaluation') this.#evaluations.push(line);
    else if (line.type === 'lost') this.#lost.push(line);
    else if (line.type === 'rewind') {
      this.#steps = this.#steps.filter(({ step }) => step < line.step);
      this.#replicas = this.#replicas.filter(({ step }) => step < line.step);
      this.#evaluations = this.#evaluations.filter(({ step }) => step <= line.step);
      // Those who resume are all there.
      this.#lost = [];
    }
  }
}

export const readLive = (folder: string): Live | undefined => new LiveReader(folder).read();

/**
 * A run that is going on, as its database will tell it later: with a row for every step, each with the mean of the steps that its line is
 * about. Undefined if there is nothing yet.
 */
export function liveSeriesOf(live: Live): RunSeries | undefined {
  if (live.start === undefined && live.steps.length === 0) return undefined;
  const { start, evaluations, replicas } = live;
  const tensors = (start?.tensors ?? []).map(({ name, shape, size }) => ({ name, shape: shape.join('×'), size }));
  const steps = stepSeries(live.steps, start?.stepsPerEpoch);
  const ms = new Float64Array(steps.step.length);
  for (const phase of Object.keys(phases)) {
    const column = (steps as never as Record<string, Series>)[`${phase}Ms`]!;
    for (let row = 0; row < ms.length; row++) ms[row]! += column[row] || 0;
  }
  return {
    tensors,
    stepsPerEpoch: start?.stepsPerEpoch ?? null,
    steps: { ...steps, ms },
    evaluations: evaluationSeries(evaluations),
    variance: varianceSeries(replicas, tensors.length),
  };
}

const number = (value: number | null | undefined) => value ?? Number.NaN;

function stepSeries(lines: readonly LiveStep[], stepsPerEpoch: number | undefined): RunSeries['steps'] {
  const total = (lines.at(-1)?.step ?? -1) + 1;
  // The line that a step belongs to; the next one for steps that no line is about.
  const lineOf = new Array<LiveStep>(total);
  let done = 0;
  for (const line of lines) for (; done <= line.step; done++) lineOf[done] = line;
  const column = (of: (line: LiveStep, step: number) => number | null | undefined) =>
    Float64Array.from(lineOf, (line, step) => number(of(line, step)));
  const entries = Object.entries(stepColumns as Columns).map(([key, { per }]) => {
    const value = (line: LiveStep) => (line as never as Record<string, number | null | LiveBand>)[key];
    if (key === 'step') return [key, column((_, step) => step)];
    if (key === 'epoch' && stepsPerEpoch !== undefined)
      return [key, column((_, step) => Math.floor(step / stepsPerEpoch))];
    if (per === 'run') return [key, column((line) => value(line) as number | null)];
    const [mean, min, max] = [0, 1, 2].map((at) => column((line) => (value(line) as LiveBand | undefined)?.[at]));
    return [key, { mean, min, max }];
  });
  return Object.fromEntries(entries) as RunSeries['steps'];
}

function bandOver(lists: readonly (PerReplica | null | undefined)[]): BandSeries {
  const there = lists.map((list) => (list ?? []).filter((value) => value !== null));
  const series = (of: (list: readonly number[]) => number) =>
    Float64Array.from(there, (list) => (list.length === 0 ? Number.NaN : of(list)));
  return { mean: series(mean), min: series((list) => Math.min(...list)), max: series((list) => Math.max(...list)) };
}

function evaluationSeries(lines: readonly LiveEvaluation[]): RunSeries['evaluations'] {
  const entries = Object.entries(evaluationColumns as Columns).map(([key, { per }]) => {
    const values = lines.map((line) => (line as never as Record<string, unknown>)[key]);
    if (key === 'replicas') return [key, Float64Array.from(values as readonly PerReplica[], ({ length }) => length)];
    if (per === 'replica') return [key, bandOver(values as readonly (PerReplica | null)[])];
    return [key, Float64Array.from(values as readonly (number | null)[], number)];
  });
  return Object.fromEntries(entries) as RunSeries['evaluations'];
}

function varianceSeries(lines: readonly LiveReplicas[], tensors: number): RunSeries['variance'] {
  const probed = lines.filter((line) => line.dispersion?.length === tensors);
  const placed = statistics.map((name) => [
    name,
    Float64Array.from(probed.flatMap((line) => line.dispersion!.map((each) => number(each[name])))),
  ]);
  return { step: Float64Array.from(probed, ({ step }) => step), ...Object.fromEntries(placed) };
}
