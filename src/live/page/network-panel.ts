import { number } from '../../base/format.ts';
import type { Experiment } from '../../experiment/schema.ts';
import { drawNetworkFrame, network, quantityOf } from '../../report/figure/network.ts';
import { make } from '../../report/page/controls.ts';
import type { NetworkReport, NetworkRound, ReplicaFrame } from '../../report/report.ts';
import type { LiveEvaluation, LiveLine, LiveReplicas } from '../../store/live.ts';
import { choose, here } from './address.ts';
import { read } from './ask.ts';
import { theme } from './figures.ts';
import { type DealtShares, reasons } from './reasons.ts';

type Column = readonly (number | null)[];
interface Tensor {
  readonly name: string;
  readonly shape: string;
  readonly size: number;
}

/** The network as it is now: follows the newest round until the reader goes back in time. */
export class NetworkPanel {
  readonly element = make('section', { className: 'card network', id: 'network' });
  readonly #id: string;
  readonly #experiment: Experiment;
  #tensors: readonly Tensor[] = [];
  #frames: ReplicaFrame[] = [];
  readonly #rounds: NetworkRound[] = [];
  /** Which round of the list a round of the run is. */
  readonly #known = new Map<string, Promise<number>>();
  #evaluation: LiveEvaluation | undefined;
  #shares: Promise<DealtShares> | undefined;
  readonly #colour = make('select', { name: 'colour' });
  readonly #slider = make('input', { type: 'range', min: '0' });
  readonly #said = make('output', {});
  readonly #follow = make('button', { type: 'button' }, 'Follow');
  readonly #drawing = make('div', { className: 'drawing' });
  readonly #side = make('div', { className: 'side' });
  #queue: Promise<unknown> = Promise.resolve();
  #due = false;

  constructor(id: string, experiment: Experiment) {
    this.#id = id;
    this.#experiment = experiment;
    this.#slider.setAttribute('aria-label', 'Step');
    this.#colour.addEventListener('change', () => {
      choose({ colour: this.#colour.value });
      this.draw();
    });
    this.#slider.addEventListener('input', () => {
      const at = this.#slider.valueAsNumber;
      choose({ step: at === this.#frames.length - 1 ? '' : String(this.#frames[at]!.step) });
      this.draw();
    });
    this.#follow.addEventListener('click', () => {
      choose({ step: '' });
      this.draw();
    });
    this.#drawing.addEventListener('click', (event) => {
      const replica = (event.target as Element).closest<SVGElement>('[data-replica]')?.dataset.replica;
      if (replica !== undefined) this.select(Number(replica));
    });
    this.element.append(
      make('h3', {}, network.title),
      make(
        'div',
        { className: 'controls' },
        make('label', { className: 'pick' }, 'Colour by', this.#colour),
        make('label', { className: 'pick slider' }, 'Step', this.#slider, this.#said),
        this.#follow,
      ),
      make('div', { className: 'both' }, this.#drawing, this.#side),
      make('figcaption', {}, network.caption),
    );
  }

  select(replica: number): void {
    choose({ replica: String(replica) });
    this.draw();
  }

  /** What was recorded before the page was opened. */
  history(found: NetworkReport | null, tensors: readonly Tensor[]) {
    this.#tensors = tensors;
    if (found === null) return this.draw();
    const offset = this.#rounds.push(...found.rounds) - found.rounds.length;
    const before = found.frames.map((frame) => ({ ...frame, round: frame.round + offset }));
    const last = before.at(-1)?.step ?? -1;
    this.#frames = [...before, ...this.#frames.filter(({ step }) => step > last)];
    this.draw();
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
    if ((this.#frames.at(-1)?.step ?? -1) >= line.step) return;
    const round = await this.#roundOf(line);
    const along = line.edges;
    const found = along && new Map(along.distance.map((each, e) => [`${along.source[e]} ${along.replica[e]}`, each]));
    const { edges } = this.#rounds[round]!;
    const drawn =
      found &&
      Array.from({ length: edges.length / 2 }, (_, e) => found.get(`${edges[2 * e]} ${edges[2 * e + 1]}`) ?? null);
    const before = this.#frames.at(-1);
    this.#frames.push({
      ...line,
      round,
      testLoss:
        evaluation === undefined
          ? (before?.testLoss ?? null)
          : placed(evaluation, evaluation.loss, this.#experiment.replicas),
      testAccuracy:
        evaluation === undefined
          ? (before?.testAccuracy ?? null)
          : placed(evaluation, evaluation.accuracy, this.#experiment.replicas),
      edges: drawn,
    });
    // What is far back is kept more sparsely, so that a long run takes no more memory.
    if (this.#frames.length > 400)
      this.#frames = this.#frames.filter((_, i, all) => i % 2 === 0 || i > all.length - 100);
    if (this.#due) return;
    this.#due = true;
    requestAnimationFrame(() => {
      this.#due = false;
      this.draw();
    });
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

  draw(): void {
    const frames = this.#frames;
    if (frames.length === 0) {
      this.#drawing.replaceChildren(make('p', { className: 'empty' }, 'Nothing was recorded yet.'));
      return;
    }
    const { chosen } = here();
    const wanted = chosen.get('step');
    const at =
      wanted === null
        ? frames.length - 1
        : Math.max(
            0,
            frames.findLastIndex(({ step }) => step <= Number(wanted)),
          );
    const frame = frames[at]!;
    this.#slider.max = String(frames.length - 1);
    this.#slider.value = String(at);
    const text = `${number(frame.step + 1)}${wanted === null ? ' (newest)' : ''}`;
    this.#said.textContent = text;
    this.#slider.setAttribute('aria-valuetext', text);
    this.#follow.hidden = wanted === null;
    const colour = this.#colours(frame);
    const values = quantityOf(colour, this.#tensors).of(frame) ?? [];
    const picked = chosen.get('replica');
    const selected = picked === null ? worstOf(values, quantityOf(colour, this.#tensors).worse) : Number(picked);
    const width = Math.max(280, Math.floor(this.#drawing.clientWidth));
    const start = performance.now();
    const run = { tensors: this.#tensors, experiment: this.#experiment };
    const svg = drawNetworkFrame(
      frame,
      this.#rounds[frame.round]!,
      run,
      colour,
      { document, width, theme: theme(), still: false },
      selected,
    );
    this.#drawing.replaceChildren(svg as unknown as Node);
    this.#drawing.dataset.ms = (performance.now() - start).toFixed(1);
    this.#drawing.dataset.step = String(frame.step);
    this.#tell(frame, selected, picked !== null);
  }

  /** What is on offer at this step; the one chosen, if it is. */
  #colours(frame: ReplicaFrame): string {
    const all = ['accuracy', 'testLoss', 'loss', 'distance', ...this.#tensors.map((_, t) => `norm:${t}`)];
    const there = all.filter((each) => quantityOf(each, this.#tensors).of(frame) !== null);
    const chosen = here().chosen.get('colour') ?? '';
    const value = there.includes(chosen) ? chosen : (there[0] ?? 'loss');
    if (this.#colour.dataset.offers !== there.join()) {
      this.#colour.dataset.offers = there.join();
      this.#colour.replaceChildren(
        ...there.map((each) => make('option', { value: each }, quantityOf(each, this.#tensors).label)),
      );
    }
    this.#colour.value = value;
    return value;
  }

  #tell(frame: ReplicaFrame, replica: number, picked: boolean): void {
    const round = this.#rounds[frame.round]!;
    this.#shares ??= read<DealtShares>('shares', { run: this.#id }).catch(() => ({ counts: null, totals: null }));
    const show = (shares: DealtShares) => {
      const { title, lines, neighbours } = reasons(frame, round, replica, picked, shares);
      const links = neighbours.slice(0, 24).map((i) => {
        const button = make('button', { type: 'button', className: 'sort' }, String(i));
        button.addEventListener('click', () => this.select(i));
        return button;
      });
      const more = neighbours.length > 24 ? [` and ${neighbours.length - 24} more`] : [];
      this.#side.replaceChildren(
        make('h4', {}, title),
        make('ul', {}, ...lines.map((line) => make('li', {}, line))),
        make(
          'p',
          {},
          neighbours.length === 0 ? 'It hears nobody in this round.' : 'Hears in this round: ',
          ...links,
          ...more,
        ),
      );
    };
    show({ counts: null, totals: null });
    void this.#shares.then((shares) => {
      if (this.#drawing.dataset.step === String(frame.step)) show(shares);
    });
  }
}

function placed({ replicas }: LiveEvaluation, values: Column, n: number): Column {
  const all = new Array<number | null>(n).fill(null);
  replicas.forEach((i, at) => {
    all[i!] = values[at] ?? null;
  });
  return all;
}

function worstOf(values: Column, worse: 'low' | 'high'): number {
  const there = values.filter((value) => value !== null);
  const found = values.indexOf(
    there.reduce((a, b) => (worse === 'low' ? Math.min(a, b) : Math.max(a, b)), there[0] ?? 0),
  );
  return Math.max(0, found);
}
