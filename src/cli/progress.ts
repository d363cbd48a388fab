import { mean } from '../base/statistics.ts';
import type { PerReplica } from '../engine/columns.ts';
import { type EvaluationEvent, lossText, type Score, type StartEvent, type StepEvent } from '../engine/event.ts';
import type { Experiment } from '../experiment/schema.ts';
import { timeText } from '../network/text.ts';
import type { Progress } from '../run.ts';
import { number, percent, shortened } from './print.ts';

interface ProgressOptions {
  readonly out?: NodeJS.WriteStream;
  /** One of many: if this is no terminal, its only line is that of its end. */
  readonly brief?: boolean;
  /** What is said last, as how long all runs will take. */
  readonly after?: () => string;
}

/** Tells how a run goes: on a terminal one line that is rewritten, elsewhere a line per evaluation. */
export class RunProgress {
  readonly #out: NodeJS.WriteStream;
  readonly #name: string;
  readonly #brief: boolean;
  readonly #after: () => string;
  #backend = '';
  #start: StartEvent | undefined;
  #startedAt = 0;
  /** Virtual seconds at which the run ends, and at which it was when this began. */
  #until = Number.POSITIVE_INFINITY;
  #virtualStart: number | undefined;
  #step: StepEvent | undefined;
  #evaluation: EvaluationEvent | undefined;
  #drawnAt = 0;
  #ended = false;
  #drawn = false;

  constructor(name: string, { out = process.stderr, brief = false, after = () => '' }: ProgressOptions = {}) {
    this.#name = name;
    this.#out = out;
    this.#brief = brief;
    this.#after = after;
    // Data may take a while to load.
    if (out.isTTY) this.#draw(true);
  }

  tell(event: Progress): void {
    if (event.type === 'run') this.#until = event.run.experiment.until?.virtualSeconds ?? Number.POSITIVE_INFINITY;
    if (event.type === 'run') this.#backend = event.backend;
    if (event.type === 'run' && !this.#out.isTTY && !this.#brief)
      this.#line(`${this.#name}  ${event.run.folder}  ${event.backend}`);
    if (event.type === 'run') this.#tellProbes(event.run.experiment);
    if (event.type === 'start') {
      this.#start = event;
      this.#startedAt = performance.now();
    }
    if (event.type === 'step') {
      this.#step = event;
      this.#virtualStart ??= most(event.virtualStart);
    }
    if (event.type === 'evaluation') this.#evaluation = event;
    if (event.type === 'end') this.#ended = true;
    if (this.#out.isTTY) this.#draw(this.#ended || event.type === 'evaluation');
    else if (event.type === 'evaluation' && !this.#brief) this.#line(this.#text(this.#state()));
    if (event.type === 'lost') {
      this.close();
      this.#line(`${this.#name}  ${lossText(event)}; the others continue`);
    }
    if (event.type === 'end') {
      const outcome = event.status === 'diverged' ? `diverged: ${event.reason}` : event.status;
      this.close();
      if (event.status === 'complete' && this.#brief && !this.#out.isTTY)
        this.#line(this.#text([...this.#state(), { text: this.#after(), rank: 1 }]));
      else if (event.status !== 'complete' || !this.#out.isTTY) this.#line(`${this.#name}  ${outcome}`);
    }
  }

  #tellProbes({ probes: { norms, normsEvery = 1 } }: Experiment): void {
    if (!norms || normsEvery === 1 || this.#brief) return;
    this.close();
    this.#line(`${this.#name}  norms at one of ${number(normsEvery)} measured steps (probes.normsEvery)`);
  }

  /** Ends the line that is being rewritten, so that what comes next has its own. */
  close(): void {
    if (this.#drawn) this.#line('');
    this.#drawn = false;
  }

  #line(text: string): void {
    this.#out.write(`${text}\n`);
  }

  #text(parts: readonly Part[], width?: number): string {
    return lineOf(this.#name, parts, width);
  }

  /** At most ten times a second: a terminal is slower than a step. */
  #draw(now: boolean): void {
    if (!now && performance.now() - this.#drawnAt < 100) return;
    this.#drawnAt = performance.now();
    this.#drawn = true;
    const width = (this.#out.columns ?? 80) - 1;
    const done = this.#step === undefined ? (this.#start?.step ?? 0) : this.#step.step + 1;
    const share =
      this.#start === undefined ? 0 : Math.min(1, Math.max(done / this.#start.steps, this.#virtual / this.#until));
    const size = width < 100 ? 10 : 20;
    const filled = Math.round(size * share);
    const parts: readonly Part[] = [
      { text: '█'.repeat(filled) + '░'.repeat(size - filled), rank: 3 },
      ...this.#state(),
      ...(this.#ended ? [] : [{ text: this.#after() || this.#remaining(done), rank: 1 }]),
    ];
    this.#out.write(`\r\x1b[2K${this.#text(parts, width)}`);
  }

  #state(): readonly Part[] {
    if (this.#start === undefined) return [{ text: `preparing ${this.#backend}`, rank: 0 }];
    const { steps, stepsPerEpoch } = this.#start;
    const step = this.#step;
    const epoch = step === undefined ? 0 : Math.ceil((step.step + 1) / stepsPerEpoch);
    const parts: Part[] = [{ text: `epoch ${number(epoch)}/${number(steps / stepsPerEpoch)}`, rank: 2 }];
    if (step !== undefined) {
      parts.push(
        { text: `loss ${mean(step.loss.filter((loss) => loss !== null)).toFixed(3)}`, rank: 4 },
        { text: `connections ${number(step.connections, 3)}`, rank: 6 },
      );
      if (step.distance !== null) parts.push({ text: `Ξ ${number(step.distance, 3)}`, rank: 8 });
      if (step.virtualFinished !== null) parts.push({ text: `virtual ${timeText(1e9 * this.#virtual, 3)}`, rank: 5 });
      if (step.gossips > 1) parts.push({ text: `gossips ${step.gossips}`, rank: 7 });
    }
    const scores = this.#evaluation?.local;
    if (scores !== undefined) parts.push({ text: scoreText(scores), rank: 0 });
    return parts;
  }

  /** Virtual seconds at which the last replica has finished. */
  get #virtual(): number {
    return most(this.#step?.virtualFinished ?? null);
  }

  #remaining(done: number): string {
    if (this.#start === undefined || done <= this.#start.step || done === this.#start.steps) return '';
    const seconds = (performance.now() - this.#startedAt) / 1000;
    const bySteps = (this.#start.steps - done) / (done - this.#start.step);
    const byTime = (this.#until - this.#virtual) / (this.#virtual - (this.#virtualStart ?? 0));
    return `${duration(seconds * Math.max(0, Number.isNaN(byTime) ? bySteps : Math.min(bySteps, byTime)))} left`;
  }
}

const most = (values: PerReplica | null): number => (values ?? []).reduce<number>((a, b) => Math.max(a, b ?? 0), 0);

/** The accuracy of the local models, or their error where numbers are predicted. */
function scoreText(scores: readonly Score[]): string {
  const accuracy = mean(scores.map((score) => score.accuracy));
  if (!Number.isNaN(accuracy)) return `test ${percent(accuracy)} %`;
  return `test error ${number(Math.sqrt(mean(scores.map(({ loss }) => loss))), 4)}`;
}

/** A part of a line; of those that do not fit, the highest rank is left out first. Rank 0 stays. */
interface Part {
  readonly text: string;
  readonly rank: number;
}

/** A name, padded to stand above others, and what fits beside it. */
export function lineOf(name: string, parts: readonly Part[], width = Number.POSITIVE_INFINITY): string {
  let kept = parts.map((part) => ({ ...part, text: part.text.trim() })).filter(({ text }) => text !== '');
  const beside = () => kept.map(({ text }) => `  ${text}`).join('');
  for (const rank of [8, 7, 6, 5, 4, 3, 2, 1])
    if (name.length + beside().length > width) kept = kept.filter((part) => part.rank !== rank);
  return shortened(name, Math.max(8, width - beside().length)) + beside();
}

export function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.round(whole / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
