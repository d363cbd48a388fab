import { bytes, number } from '../../base/format.ts';
import type { Experiment } from '../../experiment/schema.ts';
import { seconds, short, tick } from '../../report/figure/axis.ts';
import type { PageData } from '../../report/figure/figure.ts';
import { figures } from '../../report/figure/figures.ts';
import { make } from '../../report/page/controls.ts';
import type { NetworkReport, RunReport } from '../../report/report.ts';
import type { LiveLine } from '../../store/live.ts';
import { addressOf } from './address.ts';
import { type Listed, read } from './ask.ts';
import { Figures } from './figures.ts';
import { NetworkPanel } from './network-panel.ts';
import { badge, bar, buttons } from './runs.ts';

const shown = ['learning', 'variance', 'distance', 'connections', 'phases', 'heatmap'];

const last = (column: readonly (number | null)[]) => column.findLast((value) => value !== null) ?? null;
const percent = (value: number) => `${(100 * value).toFixed(2)} %`;

/** Where the run stands, in figures. */
function tilesOf({
  steps,
  evaluations,
  variance,
  summary,
}: RunReport): (readonly [string, string, string | undefined])[] {
  const tiles: (readonly [string, string, string | undefined])[] = [];
  const add = (name: string, value: number | null, text: (value: number) => string, remark?: string) => {
    if (value !== null) tiles.push([name, text(value), remark]);
  };
  const [low, high] = [last(evaluations.accuracy.min), last(evaluations.accuracy.max)];
  add(
    'test accuracy',
    last(evaluations.accuracy.mean),
    percent,
    low === null ? undefined : `replicas ${percent(low)} to ${percent(high!)}`,
  );
  add('merged model', last(evaluations.mergedAccuracy), percent);
  add('training loss', last(steps.loss.mean), short);
  add('Gini of the norms', last(variance.mean.gini), tick);
  const target = last(steps.targetDistance);
  add('distance Ξ', last(steps.distance), short, target === null ? undefined : `target ${short(target)}`);
  add('learning rate', last(steps.learningRate), tick);
  add('neighbours k', last(steps.connections), (k) => number(k, 3));
  add('sent per replica', summary.sentBytes, bytes);
  add('time per step', summary.stepMs, (ms) => `${short(ms)} ms`);
  return tiles;
}

/** One run as it goes on: where it stands, the network, curves. */
export class RunView {
  readonly element = make('section', {});
  readonly #id: string;
  readonly #head = make('div', { className: 'head' });
  readonly #tiles = make('div', { className: 'tiles' });
  readonly #lost = make('ul', { className: 'bad' });
  readonly #figures = new Figures(shown.map((id) => figures.find((figure) => figure.id === id)!));
  #panel: NetworkPanel | undefined;
  #early: LiveLine[] = [];
  #row = '';
  #shown = '';
  #stale = true;
  #status = '';
  #waiting: ReturnType<typeof setTimeout> | undefined;

  constructor(id: string) {
    this.#id = id;
    const place = make('div', {});
    this.element.append(this.#head, this.#lost, this.#tiles, place, this.#figures.element);
    void this.#open(place).catch((error) => place.replaceChildren(make('p', { className: 'card' }, error.message)));
  }

  async #open(place: HTMLElement): Promise<void> {
    const experiment = await read<Experiment>('settings', { run: this.#id });
    this.#panel = new NetworkPanel(this.#id, experiment);
    place.replaceChildren(this.#panel.element);
    await this.#history();
    this.#panel.take(this.#early);
    this.#early = [];
  }

  async #history(): Promise<void> {
    const [{ network }, data] = await Promise.all([
      read<{ network: NetworkReport | null }>('network', { run: this.#id }),
      read<PageData>('report', { runs: this.#id }).catch(() => undefined),
    ]);
    this.#panel!.history(network, data?.report.runs[0]?.tensors ?? []);
    if (data !== undefined) this.#show(data);
  }

  list({ runs, readOnly }: Listed) {
    const row = runs.find(({ id }) => id === this.#id);
    if (row === undefined)
      return this.#head.replaceChildren(
        make('h1', {}, this.#id),
        make('p', {}, 'This run is not there. ', make('a', { href: '#/runs' }, 'All runs')),
      );
    const text = JSON.stringify(row);
    if (text === this.#row) return;
    this.#row = text;
    const left =
      row.left === null
        ? row.seconds === null
          ? ''
          : `took ${seconds(row.seconds)}`
        : `about ${seconds(row.left)} left`;
    const of = row.steps === null ? '' : ` of ${number(row.steps)}`;
    const focused = this.#head.contains(document.activeElement) ? document.activeElement?.textContent : undefined;
    this.#head.replaceChildren(
      make('h1', {}, row.name, ' ', badge(row)),
      make(
        'p',
        { className: 'lead' },
        `${row.id} · ${row.task} · ${row.method} · ${number(row.replicas)} replicas · seed ${row.seed}`,
      ),
      make(
        'div',
        { className: 'tools' },
        bar(row),
        make('span', {}, [`step ${number(row.step)}${of}`, left].filter(Boolean).join(', ')),
        ...buttons(row, readOnly, () => (location.hash = '#/runs')),
        make('a', { href: addressOf('compare', '', { runs: this.#id }) }, 'Compare with others'),
      ),
      ...(row.reason === null ? [] : [make('p', { className: 'bad' }, row.reason)]),
    );
    for (const button of this.#head.querySelectorAll('button')) if (button.textContent === focused) button.focus();
    if (this.#status === 'running' && row.status !== 'running') void this.#history().catch(() => {});
    this.#status = row.status;
    this.#stale = true;
    this.#plan();
  }

  lines(lines: readonly LiveLine[]): void {
    for (const line of lines)
      if (line.type === 'lost')
        this.#lost.append(
          make(
            'li',
            {},
            `rank ${line.rank} with replicas ${line.replicas.join(', ')} was lost in step ${number(line.step)}`,
          ),
        );
    if (this.#panel === undefined) this.#early.push(...lines);
    else this.#panel.take(lines);
    this.#stale = true;
    this.#plan();
  }

  #plan(): void {
    if (this.#waiting !== undefined || !this.#stale) return;
    this.#waiting = setTimeout(
      async () => {
        this.#waiting = undefined;
        this.#stale = false;
        await read<PageData>('report', { runs: this.#id }).then(
          (data) => this.#show(data),
          () => {},
        );
        this.#plan();
      },
      Math.max(1000, this.#figures.rest),
    );
  }

  #show(data: PageData): void {
    const run = data.report.runs[0]!;
    const tiles = tilesOf(run);
    const text = JSON.stringify(tiles);
    if (text !== this.#shown)
      this.#tiles.replaceChildren(
        ...tiles.map(([name, value, remark]) =>
          make(
            'div',
            { className: 'tile' },
            make('small', {}, name),
            make('strong', {}, value),
            ...(remark === undefined ? [] : [make('small', {}, remark)]),
          ),
        ),
      );
    this.#shown = text;
    this.#figures.show(data);
  }

  redraw(): void {
    this.#panel?.draw();
    this.#figures.redraw();
  }

  close(): void {
    clearTimeout(this.#waiting);
    this.#figures.close();
  }
}
