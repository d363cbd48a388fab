import { UserError } from '../base/error.ts';
import { mean } from '../base/statistics.ts';
import { parseLine, readLines } from '../metric/live.ts';
import { type ScoreName, scoreOf } from '../metric/score.ts';
import type { LiveEvaluation } from '../store/live.ts';
import type { Run } from '../store/runs.ts';
import { readEvents } from '../store/views.ts';

/** What the list says of a run, in numbers. */
export interface RunFigures {
  readonly step: number;
  readonly steps: number | null;
  readonly left: number | null;
  readonly curve: readonly number[];
}

export const unknownFigures: RunFigures = { step: 0, steps: null, left: null, curve: [] };
const mostPoints = 60;

/** Every so many, and the last. */
const thinned = (values: readonly number[]) => {
  const every = Math.ceil(values.length / mostPoints);
  return values.filter((_, i) => i % every === 0 || i === values.length - 1);
};

/** Of the replicas' scores at one evaluation; NaN if nothing was measured. */
function scoreFrom(name: ScoreName, { accuracy, loss }: Pick<LiveEvaluation, 'accuracy' | 'loss'>): number {
  const there = (name === 'accuracy' ? accuracy : loss).filter((each) => each !== null);
  const found = there.length === 0 ? Number.NaN : mean(there);
  return name === 'accuracy' ? found : Math.sqrt(found);
}

/** Of a run that has ended, from its database; undefined if that cannot be read. */
export async function storedFigures({ database, experiment }: Run): Promise<RunFigures | undefined> {
  const score = scoreOf(experiment) === 'accuracy' ? 'accuracy' : 'sqrt(loss)';
  try {
    return await readEvents(database, async ({ rows }) => {
      const scores = await rows(`select ${score} as score from evaluations order by step`);
      const [last] = await rows('select max(step) as step, min(step) filter (epoch = 1) as first from steps');
      const first = last?.first as number | null;
      return {
        step: ((last?.step as number | null) ?? -1) + 1,
        steps: first === null ? null : first * experiment.epochs,
        left: null,
        curve: thinned(scores.flatMap(({ score: each }) => (each === null ? [] : [each as number]))),
      };
    });
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}

/** What the list says of a run that is going on, from the new lines of its live file alone. */
export class Tail {
  readonly #path: string;
  readonly #score: ScoreName;
  #next = 0;
  #figures: RunFigures = unknownFigures;
  #scores: { readonly step: number; readonly score: number }[] = [];
  #start: { readonly at: number; readonly step: number; readonly steps: number } | undefined;

  constructor(path: string, score: ScoreName) {
    this.#path = path;
    this.#score = score;
  }

  figures(): RunFigures {
    const text = readLines(this.#path, this.#next);
    if (text === undefined) return this.#figures;
    if (text.next < this.#next) {
      this.#figures = unknownFigures;
      this.#scores = [];
    }
    this.#next = text.next;
    for (const line of text.lines) this.#take(line);
    return this.#figures;
  }

  #take(text: string): void {
    // Lines about replicas are long and not needed here.
    if (text.startsWith('{"type":"replicas"')) return;
    const line = parseLine(text);
    if (line?.type === 'start') {
      this.#start = line;
      this.#figures = { ...this.#figures, step: line.step, steps: line.steps };
    } else if (line?.type === 'step') {
      const done = line.step + 1;
      const start = this.#start;
      const since = start === undefined ? 0 : done - start.step;
      const left = since > 0 ? (((line.at - start!.at) / since) * (start!.steps - done)) / 1000 : null;
      this.#figures = { ...this.#figures, step: done, left };
    } else if (line?.type === 'evaluation') {
      const score = scoreFrom(this.#score, line);
      if (!Number.isNaN(score)) this.#draw([...this.#scores, { step: line.step, score }]);
    } else if (line?.type === 'rewind') this.#draw(this.#scores.filter(({ step }) => step <= line.step));
  }

  #draw(scores: { readonly step: number; readonly score: number }[]): void {
    this.#scores = scores;
    this.#figures = { ...this.#figures, curve: thinned(scores.map(({ score }) => score)) };
  }
}
