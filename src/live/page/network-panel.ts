import { number } from '../../base/format.ts';
import type { Experiment } from '../../experiment/schema.ts';
import { drawNetworkFrame, mostTitles, network, nodeText, quantityOf } from '../../report/figure/network.ts';
import { make } from '../../report/page/controls.ts';
import type { NetworkReport, ReplicaFrame } from '../../report/report.ts';
import type { LiveLine } from '../../store/live.ts';
import { choose, here } from './address.ts';
import { captionOf, theme } from './figures.ts';
import { FrameLog, type ShownTensor } from './frames.ts';
import { ReplicaPanel } from './replica-panel.ts';
import { widthOf } from './width.ts';

/** The network as it is now: follows the newest round until the reader goes back in time. */
export class NetworkPanel {
  readonly element = make('section', { className: 'card network', id: 'network' });
  readonly #experiment: Experiment;
  readonly #log: FrameLog;
  readonly #replica: ReplicaPanel;
  readonly #colour = make('select', { name: 'colour' });
  readonly #number = make('input', { type: 'number', min: '0' });
  readonly #worst = make('button', { type: 'button' }, 'Furthest behind');
  readonly #slider = make('input', { type: 'range', min: '0' });
  readonly #said = make('output', {});
  readonly #follow = make('button', { type: 'button' }, 'Follow');
  readonly #drawing = make('div', { className: 'drawing', tabIndex: 0 });
  readonly #empty = make('p', { className: 'empty' }, 'Nothing was recorded yet.');
  readonly #both: HTMLElement;
  #shown: readonly [ReplicaFrame, ReturnType<typeof quantityOf>] | undefined;

  /** `changed` is called when there is something new to draw. */
  constructor(id: string, experiment: Experiment, changed: () => void) {
    this.#experiment = experiment;
    this.#log = new FrameLog(id, experiment, changed);
    this.#replica = new ReplicaPanel(id, (replica) => this.select(replica));
    this.#number.max = String(experiment.replicas - 1);
    this.#number.setAttribute('aria-label', 'Replica');
    this.#slider.setAttribute('aria-label', 'Step');
    this.#drawing.setAttribute('role', 'group');
    this.#drawing.setAttribute('aria-label', 'The network; arrow keys go from replica to replica');
    this.#both = make('div', { className: 'both', hidden: true }, this.#drawing, this.#replica.element);
    this.#listen();
    this.element.append(
      make('h3', {}, network.title),
      make(
        'div',
        { className: 'controls' },
        make('label', { className: 'pick' }, 'Colour by', this.#colour),
        make('label', { className: 'pick' }, 'Replica', this.#number),
        this.#worst,
        make('label', { className: 'pick slider' }, 'Step', this.#slider, this.#said),
        this.#follow,
      ),
      this.#empty,
      this.#both,
      captionOf(network),
    );
  }

  #listen(): void {
    const set = (changes: Readonly<Record<string, string>>) => {
      choose(changes);
      this.draw();
    };
    this.#colour.addEventListener('change', () => set({ colour: this.#colour.value }));
    this.#number.addEventListener(
      'input',
      () => this.#number.validity.valid && this.select(this.#number.valueAsNumber),
    );
    this.#worst.addEventListener('click', () => set({ replica: '' }));
    this.#slider.addEventListener('input', () => {
      const { frames } = this.#log;
      const at = this.#slider.valueAsNumber;
      set({ step: at === frames.length - 1 ? '' : String(frames[at]!.step) });
    });
    this.#follow.addEventListener('click', () => set({ step: '' }));
    this.#drawing.addEventListener('click', (event) => {
      const replica = (event.target as Element).closest<SVGElement>('[data-replica]')?.dataset.replica;
      if (replica !== undefined) this.select(Number(replica));
    });
    this.#drawing.addEventListener('pointermove', (event) => {
      if (this.#experiment.replicas <= mostTitles || this.#shown === undefined) return;
      const replica = (event.target as Element).closest<SVGElement>('[data-replica]')?.dataset.replica;
      this.#drawing.title = replica === undefined ? '' : nodeText(...this.#shown, Number(replica));
    });
    this.#drawing.addEventListener('keydown', (event) => {
      const frame = this.#log.frames.at(-1);
      if (frame === undefined) return;
      const columns = this.#log.roundIn(frame).columns ?? 1;
      const move = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
      if (event.key === 'Escape') set({ replica: '' });
      if (move === undefined) return;
      event.preventDefault();
      const { replicas } = this.#experiment;
      this.select((Number(this.#drawing.dataset.selected) + move + replicas) % replicas);
    });
  }

  select(replica: number): void {
    if (!Number.isInteger(replica)) return;
    choose({ replica: String(replica) });
    this.draw();
  }

  /** What was recorded before the page was opened. */
  history(found: NetworkReport | null, tensors: readonly ShownTensor[]): void {
    this.#log.history(found, tensors);
  }

  take(lines: readonly LiveLine[]): void {
    this.#log.take(lines);
  }

  draw(): void {
    const { frames, tensors } = this.#log;
    this.#both.hidden = frames.length === 0;
    this.#empty.hidden = frames.length > 0;
    if (frames.length === 0) return;
    const start = performance.now();
    const { chosen } = here();
    const wanted = chosen.get('step');
    const found = wanted === null ? frames.length - 1 : frames.findLastIndex(({ step }) => step <= Number(wanted));
    const at = Math.max(0, found);
    const frame = frames[at]!;
    this.#tellStep(at, frames, wanted === null);
    const colour = this.#colours(frame);
    const quantity = quantityOf(colour, tensors);
    const picked = Number(chosen.get('replica') ?? Number.NaN);
    const isPicked = Number.isInteger(picked) && picked >= 0 && picked < this.#experiment.replicas;
    const selected = isPicked ? picked : worstOf(quantity.of(frame) ?? [], quantity.worse);
    if (document.activeElement !== this.#number) this.#number.value = String(selected);
    this.#worst.hidden = !isPicked;
    this.#shown = [frame, quantity];
    const round = this.#log.roundIn(frame);
    const look = { document, width: widthOf(this.#drawing), theme: theme(), still: false };
    const run = { tensors, experiment: this.#experiment };
    this.#drawing.replaceChildren(drawNetworkFrame(frame, round, run, colour, look, selected) as unknown as Node);
    this.#drawing.dataset.step = String(frame.step);
    this.#drawing.dataset.selected = String(selected);
    this.#replica.show({ replica: selected, picked: isPicked, frame, round, frames, quantity });
    this.#drawing.dataset.ms = (performance.now() - start).toFixed(1);
  }

  #tellStep(at: number, frames: readonly ReplicaFrame[], follows: boolean): void {
    const { step, epoch } = frames[at]!;
    this.#slider.max = String(frames.length - 1);
    this.#slider.value = String(at);
    const text = `${number(step + 1)}, epoch ${number(epoch + 1)}${follows ? ' (newest)' : ''}`;
    this.#said.textContent = text;
    this.#slider.setAttribute('aria-valuetext', text);
    this.#follow.hidden = follows;
  }

  /** What is on offer at this step; the one chosen, if it is. */
  #colours(frame: ReplicaFrame): string {
    const { tensors } = this.#log;
    const all = [
      'accuracy',
      'testLoss',
      'loss',
      'distance',
      'finished',
      'ownSteps',
      ...tensors.map((_, t) => `norm:${t}`),
    ];
    const there = all.filter((each) => quantityOf(each, tensors).of(frame) !== null);
    const chosen = here().chosen.get('colour') ?? '';
    const value = there.includes(chosen) ? chosen : (there[0] ?? 'loss');
    if (this.#colour.dataset.offers !== there.join()) {
      this.#colour.dataset.offers = there.join();
      this.#colour.replaceChildren(
        ...there.map((each) => make('option', { value: each }, quantityOf(each, tensors).label)),
      );
    }
    this.#colour.value = value;
    return value;
  }
}

function worstOf(values: readonly (number | null)[], worse: 'low' | 'high'): number {
  const there = values.filter((value) => value !== null);
  const found = values.indexOf(
    there.reduce((a, b) => (worse === 'low' ? Math.min(a, b) : Math.max(a, b)), there[0] ?? 0),
  );
  return Math.max(0, found);
}
