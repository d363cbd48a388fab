import { mean } from '../base/statistics.ts';
import { type EvaluationEvent, lossText, type StartEvent, type StepEvent } from '../engine/event.ts';
import type { Progress } from '../run.ts';
import { number } from './print.ts';

interface ProgressOptions {
  readonly out?: NodeJS.WriteStream;
  /** One of many: elsewhere than on a terminal its only line is that of its end. */
  readonly brief?: boolean;
  /** What is said after its name, as how long all will take. */
  readonly after?: () => string;
}

/** Tells how a run goes: a line that is rewritten on a terminal, a line an evaluation elsewhere. */
export class RunProgress {
  readonly #out: NodeJS.WriteStream;
  readonly #name: string;
  readonly #brief: boolean;
  readonly #after: () => string;
  #start: StartEvent | undefined;
  #startedAt = 0;
  #step: StepEvent | undefined;
  #evaluation: EvaluationEvent | undefined;
  #drawnAt = 0;
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
    if (event.type === 'run' && !this.#out.isTTY && !this.#brief) this.#line(`${this.#name}  ${event.run.folder}`);
    if (event.type === 'start') {
      this.#start = event;
      this.#startedAt = performance.now();
    }
    if (event.type === 'step') this.#step = event;
    if (event.type === 'evaluation') this.#evaluation = event;
    if (this.#out.isTTY) this.#draw(event.type === 'end' || event.type === 'evaluation');
    else if (event.type === 'evaluation' && !this.#brief) this.#line(`${this.#name}  ${this.#state()}`);
    if (event.type === 'lost') {
      this.close();
      this.#line(`${this.#name}  ${lossText(event)}; the others go on`);
    }
    if (event.type === 'end') {
      const outcome = event.status === 'diverged' ? `diverged: ${event.reason}` : event.status;
      this.close();
      if (event.status === 'complete' && this.#brief && !this.#out.isTTY)
        this.#line(`${this.#name}${this.#after()}  ${this.#state()}`);
      else if (event.status !== 'complete' || !this.#out.isTTY) this.#line(`${this.#name}  ${outcome}`);
    }
  }

  /** Ends the line that is being rewritten, so that what comes next has its own. */
  close(): void {
    if (this.#drawn) this.#line('');
    this.#drawn = false;
  }

  #line(text: string): void {
    this.#out.write(`${text}\n`);
  }

  /** At most ten times a second: a terminal is slower than a step. */
  #draw(now: boolean): void {
    if (!now && performance.now() - this.#drawnAt < 100) return;
    this.#drawnAt = performance.now();
    this.#drawn = true;
    const done = this.#step === undefined ? (this.#start?.step ?? 0) : this.#step.step + 1;
    const share = this.#start === undefined ? 0 : done / this.#start.steps;
    const filled = Math.round(20 * share);
    const bar = '█'.repeat(filled) + '░'.repeat(20 - filled);
    const text = `${this.#name}${this.#after()}  ${bar}  ${this.#state()}${this.#remaining(done)}`;
    this.#out.write(`\r\x1b[2K${text.slice(0, (this.#out.columns ?? 120) - 1)}`);
  }

  #state(): string {
    if (this.#start === undefined) return 'preparing';
    const { steps, stepsPerEpoch } = this.#start;
    const step = this.#step;
    const parts = [
      `epoch ${number(step === undefined ? 0 : Math.ceil((step.step + 1) / stepsPerEpoch))}/${number(steps / stepsPerEpoch)}`,
    ];
    if (step !== undefined) {
      parts.push(
        `loss ${mean(step.loss.filter((loss) => loss !== null)).toFixed(3)}`,
        `k ${number(step.connections, 3)}`,
      );
      if (step.distance !== null) parts.push(`Ξ ${number(step.distance, 3)}`);
      if (step.gossips > 1) parts.push(`gossips ${step.gossips}`);
    }
    const accuracy = this.#evaluation?.local.map((score) => score.accuracy);
    if (accuracy !== undefined) parts.push(`test ${(100 * mean(accuracy)).toFixed(2)} %`);
    return parts.join('  ');
  }

  #remaining(done: number): string {
    if (this.#start === undefined || done <= this.#start.step || done === this.#start.steps) return '';
    const perStep = (performance.now() - this.#startedAt) / (done - this.#start.step);
    return `  ${duration((perStep * (this.#start.steps - done)) / 1000)} left`;
  }
}

export function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.round(whole / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
