import { number } from '../../base/format.ts';
import type { Experiment } from '../../experiment/schema.ts';
import type { PageData } from '../../report/figure/figure.ts';
import { figures } from '../../report/figure/figures.ts';
import { make } from '../../report/page/controls.ts';
import type { NetworkReport } from '../../report/report.ts';
import type { LiveLine } from '../../store/live.ts';
import type { RunRow } from '../catalogue.ts';
import { addressOf } from './address.ts';
import { type Listed, read } from './ask.ts';
import { Budget } from './budget.ts';
import { Figures } from './figures.ts';
import { NetworkPanel } from './network-panel.ts';
import { action, badge, bar, deleteAll, shareDone, steer, timeText, whenText } from './row.ts';
import { Tiles } from './tiles.ts';

const shown = ['learning', 'variance', 'distance', 'connections', 'phases', 'heatmap'];

/** Who came and went last, and how many are away. */
function awayText({ step, left, returned, away }: Extract<LiveLine, { type: 'presence' }>): string {
  const some = (replicas: readonly number[], what: string) =>
    replicas.length === 0 ? [] : [`${replicas.length === 1 ? 'replica' : 'replicas'} ${replicas.join(', ')} ${what}`];
  const moved = [...some(left, 'left'), ...some(returned, 'came back')].join(', ');
  return `In step ${number(step + 1)} ${moved}; ${away === 0 ? 'all are there' : `${number(away)} away`}.`;
}

/** One run as it goes on: where it stands, the network, curves, settings. */
export class RunView {
  readonly element = make('section', {});
  readonly #id: string;
  readonly #head = make('div', { className: 'head' });
  readonly #tiles = new Tiles();
  readonly #lost = make('ul', { className: 'lost', hidden: true });
  readonly #away = make('p', {});
  readonly #place = make('div', {});
  readonly #figures = new Figures(shown.map((id) => figures.find((figure) => figure.id === id)!));
  readonly #settings = make('details', { className: 'card settings' }, make('summary', {}, 'Settings'));
  readonly #losses = new Map<string, string>();
  #panel: NetworkPanel | undefined;
  /** Lines that came before what was recorded earlier. */
  #early: LiveLine[] = [];
  #ready = false;
  #row = '';
  #stale = true;
  #status = '';
  #waiting: ReturnType<typeof setTimeout> | undefined;
  readonly #budget = new Budget();

  constructor(id: string) {
    this.#id = id;
    this.element.append(
      this.#head,
      this.#lost,
      this.#away,
      this.#tiles.element,
      this.#place,
      this.#figures.element,
      this.#settings,
    );
    void this.#open().catch((error) => this.#place.replaceChildren(make('p', { className: 'card' }, error.message)));
  }

  async #open(): Promise<void> {
    const experiment = await read<Experiment>('settings', { run: this.#id });
    this.#panel = new NetworkPanel(this.#id, experiment);
    this.#place.replaceChildren(this.#panel.element);
    await this.#history();
    this.#ready = true;
    this.#panel.take(this.#early);
    this.#early = [];
    const { yaml } = await read<{ yaml: string }>('recipe', { run: this.#id });
    this.#settings.append(
      make('p', { className: 'hint' }, 'All that differs from the defaults.'),
      make('pre', {}, yaml),
    );
  }

  async #history(): Promise<void> {
    const [{ network }, data] = await Promise.all([
      read<{ network: NetworkReport | null }>('network', { run: this.#id }),
      this.#report().catch(() => undefined),
    ]);
    this.#panel!.history(network, data?.report.runs[0]?.tensors ?? []);
    if (data !== undefined) this.#show(data);
  }

  /** Without the replicas step by step, which the network has of its own. */
  #report(): Promise<PageData> {
    return read<PageData>('report', { runs: this.#id, frames: 'no' });
  }

  list({ runs, readOnly }: Listed) {
    const row = runs.find((each) => each.id === this.#id);
    if (row === undefined)
      return this.#head.replaceChildren(
        make('h1', {}, this.#id),
        make('p', {}, 'This run is not there (any more). ', make('a', { href: '#/runs' }, 'All runs')),
      );
    const text = JSON.stringify(row);
    if (text === this.#row) return;
    this.#row = text;
    this.#tellHead(row, readOnly);
    if (this.#status === 'running' && row.status !== 'running') void this.#history().catch(() => {});
    this.#status = row.status;
    this.#stale = true;
    this.#plan();
  }

  #tellHead(row: RunRow, readOnly: boolean): void {
    const focused = this.#head.contains(document.activeElement) ? document.activeElement?.textContent : undefined;
    const of = row.steps === null ? '' : ` of ${number(row.steps)}`;
    const share = `, ${Math.floor(100 * shareDone(row))} %`;
    const done = row.status === 'complete' ? `${number(row.step)} steps` : `step ${number(row.step)}${of}${share}`;
    const facts = [
      row.task,
      row.topology,
      row.method,
      `${number(row.replicas)} replica${row.replicas === 1 ? '' : 's'}`,
      `seed ${row.seed}`,
      `started ${whenText(row.startedAt)}`,
      ...(row.host === null ? [] : [`on ${row.host}`]),
      row.id,
    ];
    const remove = action('Delete…', () => deleteAll([row]).then((gone) => gone && (location.hash = '#/runs')));
    this.#head.replaceChildren(
      make(
        'div',
        { className: 'title' },
        make('h1', {}, row.name, ' ', badge(row)),
        make(
          'div',
          { className: 'tools' },
          ...steer(row, readOnly),
          make('a', { className: 'plain', href: addressOf('compare', '', { runs: this.#id }) }, 'Compare with others'),
          ...(readOnly
            ? []
            : [
                make('a', { className: 'plain', href: addressOf('start', '', { run: this.#id }) }, 'Start a variation'),
              ]),
          ...(readOnly || row.status === 'running' ? [] : [remove]),
        ),
      ),
      make('p', { className: 'lead' }, facts.join(' · ')),
      make(
        'div',
        { className: 'progress' },
        ...(row.status === 'complete' ? [] : [bar(row)]),
        make('span', {}, [done, timeText(row)].filter(Boolean).join(', ')),
      ),
      ...(row.reason === null ? [] : [make('p', { className: 'bad' }, row.reason)]),
    );
    for (const each of this.#head.querySelectorAll<HTMLElement>('a,button'))
      if (focused !== undefined && each.textContent === focused) each.focus();
  }

  lines(lines: readonly LiveLine[]): void {
    this.#tellLost(lines);
    const presence = lines.findLast((line) => line.type === 'presence');
    if (presence !== undefined) this.#away.textContent = awayText(presence);
    if (this.#ready) this.#panel!.take(lines);
    else this.#early.push(...lines);
    this.#stale = true;
    this.#plan();
  }

  /** Each once, however often it is told; those who resume are all there. */
  #tellLost(lines: readonly LiveLine[]): void {
    for (const line of lines) {
      if (line.type === 'rewind') this.#losses.clear();
      if (line.type !== 'lost') continue;
      const { rank, step, replicas } = line;
      const who = replicas.length === 1 ? `replica ${replicas[0]}` : `replicas ${replicas.join(', ')}`;
      this.#losses.set(`${rank} ${step}`, `Rank ${rank} with ${who} was lost in step ${number(step + 1)}.`);
    }
    this.#lost.hidden = this.#losses.size === 0;
    this.#lost.replaceChildren(...[...this.#losses.values()].map((text) => make('li', {}, text)));
  }

  #plan(): void {
    if (this.#waiting !== undefined || !this.#stale) return;
    this.#waiting = setTimeout(
      async () => {
        this.#waiting = undefined;
        this.#stale = false;
        // With what it takes the server.
        const start = performance.now();
        await this.#report().then(
          (data) => this.#show(data),
          () => {},
        );
        this.#budget.spend(performance.now() - start);
        this.#plan();
      },
      Math.max(1000, this.#budget.rest),
    );
  }

  #show(data: PageData): void {
    this.#tiles.show(data.report.runs[0]!);
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
