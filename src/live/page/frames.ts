import type { Experiment } from '../../experiment/schema.ts';
import type { NetworkReport, NetworkRound, ReplicaFrame } from '../../report/report.ts';
import type { LiveEvaluation, LiveLine, LiveReplicas } from '../../store/live.ts';
import { read } from './ask.ts';

type Column = readonly (number | null)[];

export interface ShownTensor {
  readonly name: string;
  readonly shape: string;
  readonly size: number;
}

/** What is far back is kept more sparsely than this, so that a long run takes no more memory. */
const [mostFrames, newest] = [400, 100];

/** The replicas step by step: what was recorded before the page was opened, and what comes. */
export class FrameLog {
  readonly #id: string;
  readonly #experiment: Experiment;
  readonly #changed: () => void;
  #tensors: readonly ShownTensor[] = [];
  #frames: ReplicaFrame[] = [];
  readonly #rounds: NetworkRound[] = [];
  /** Which round of the list a round of the run is. */
  readonly #known = new Map<string, Promise<number>>();
  #evaluation: LiveEvaluation | undefined;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(id: string, experiment: Experiment, changed: () => void) {
    this.#id = id;
    this.#experiment = experiment;
    this.#changed = changed;
  }

  get frames(): readonly ReplicaFrame[] {
    return this.#frames;
  }

  get tensors(): readonly ShownTensor[] {
    return this.#tensors;
  }

  roundIn({ round }: ReplicaFrame): NetworkRound {
    return this.#rounds[round]!;
  }

  /** What was recorded before. */
  history(found: NetworkReport | null, tensors: readonly ShownTensor[]): void {
    this.#tensors = tensors;
    if (found !== null) {
      const offset = this.#rounds.push(...found.rounds) - found.rounds.length;
      const before = found.frames.map((frame) => ({ ...frame, round: frame.round + offset }));
      const last = before.at(-1)?.step ?? -1;
      this.#frames = [...before, ...this.#frames.filter(({ step }) => step > last)];
    }
    this.#changed();
  }

  take(lines: readonly LiveLine[]): void {
    for (const line of lines) {
      if (line.type === 'evaluation') this.#evaluation = line;
      if (line.type === 'start')
        this.#tensors = line.tensors.map((tensor) => ({ ...tensor, shape: tensor.shape.join('×') }));
      if (line.type === 'rewind') this.#frames = this.#frames.filter(({ step }) => step < line.step);
      if (line.type === 'replicas') {
        const evaluation = this.#evaluation;
        this.#queue = this.#queue.then(() => this.#add(line, evaluation)).catch(() => {});
      }
    }
  }

  async #add(line: LiveReplicas, evaluation: LiveEvaluation | undefined): Promise<void> {
    const isKnown = () => (this.#frames.at(-1)?.step ?? -1) >= line.step;
    if (isKnown()) return;
    const round = await this.#roundOf(line);
    // What was recorded before may have come meanwhile.
    if (isKnown()) return;
    const along = line.edges;
    const found = along && new Map(along.distance.map((each, e) => [`${along.source[e]} ${along.replica[e]}`, each]));
    const { edges } = this.#rounds[round]!;
    const drawn =
      found &&
      Array.from({ length: edges.length / 2 }, (_, e) => found.get(`${edges[2 * e]} ${edges[2 * e + 1]}`) ?? null);
    const before = this.#frames.at(-1);
    const { replicas: n } = this.#experiment;
    this.#frames.push({
      ...line,
      finished: line.finished ?? null,
      ownSteps: line.ownSteps ?? null,
      round,
      testLoss: evaluation === undefined ? (before?.testLoss ?? null) : placed(evaluation, evaluation.loss, n),
      testAccuracy:
        evaluation === undefined ? (before?.testAccuracy ?? null) : placed(evaluation, evaluation.accuracy, n),
      edges: drawn,
    });
    if (this.#frames.length > mostFrames)
      this.#frames = this.#frames.filter((_, i, all) => i % 2 === 0 || i > all.length - newest);
    this.#changed();
  }

  /** A topology that repeats is asked for once for each of its rounds. */
  async #roundOf({ epoch, round }: LiveReplicas): Promise<number> {
    const fixed =
      this.#rounds.length > 0 &&
      'kind' in this.#experiment.topology &&
      !['ada', 'piecewise'].includes(this.#experiment.topology.kind);
    const period = fixed ? this.#rounds[0]!.period : null;
    if (fixed && period === 1) return 0;
    const key = period === null ? `${epoch} ${round}` : String(round % period);
    let known = this.#known.get(key);
    if (known === undefined) {
      const query = { run: this.#id, epoch: String(epoch), round: String(round) };
      known = read<NetworkRound>('round', query).then((found) => this.#rounds.push(found) - 1);
      this.#known.set(key, known);
      known.catch(() => this.#known.delete(key));
    }
    return known;
  }
}

function placed({ replicas }: LiveEvaluation, values: Column, n: number): Column | null {
  const all = new Array<number | null>(n).fill(null);
  replicas.forEach((i, at) => {
    all[i!] = values[at] ?? null;
  });
  return all.every((value) => value === null) ? null : all;
}
