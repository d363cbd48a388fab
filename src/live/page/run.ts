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
import { Figures } from './figures.ts';
import { NetworkPanel } from './network-panel.ts';
import { Pulse } from './pulse.ts';
import { renew } from './renew.ts';
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

function messagesText({ sent, lost, late }: Extract<LiveLine, { type: 'messages' }>): string {
  const share = (count: number) => `${number(count)} (${number((100 * count) / sent, 2)} %)`;
  const some = [
    ...(lost > 0 ? [`${share(lost)} were lost`] : []),
    ...(late > 0 ? [`${share(late)} came too late`] : []),
  ];
  return `Of ${number(sent)} messages ${some.join(', ')}.`;
}

/** One run as it goes on: where it stands, the network, curves, settings. */
export class RunView {
  readonly element = make('section', {});
  readonly #id: string;
  readonly #title = make('div', { className: 'title' });
  readonly #lead = make('p', { className: 'lead' });
  readonly #progress = make('div', { className: 'progress' });
  readonly #reason = make('p', { className: 'bad' });
  readonly #tiles = new Tiles();
  readonly #lost = make('ul', { className: 'lost', hidden: true });
  readonly #away = make('p', { className: 'faults' });
  readonly #messages = make('p', { className: 'faults' });
  readonly #place = make('div', {});
  readonly #figures = new Figures(shown.map((id) => figures.find((figure) => figure.id === id)!));
  readonly #settings = make('details', { className: 'card settings' }, make('summary', {}, 'Settings'));
  readonly #losses = new Map<string, string>();
  readonly #pulse = new Pulse(() =>
    this.#update().catch((error) => {
      if (!this.#complete) this.#place.replaceChildren(make('p', { className: 'card' }, error.message));
    }),
  );
  #panel: NetworkPanel | undefined;
  /** Whether the panel has what was recorded before. */
  #complete = false;
  /** Lines that came before it had. */
  #early: LiveLine[] = [];
  #row: RunRow | undefined;
  #readOnly = false;

  constructor(id: string) {
    this.#id = id;
    this.element.append(
      make('div', { className: 'head' }, this.#title, this.#lead, this.#progress, this.#reason),
      this.#lost,
      this.#away,
      this.#messages,
      this.#tiles.element,
      this.#place,
      this.#figures.element,
      this.#settings,
    );
    this.#pulse.ask();
  }

  /** All of the view, in one go. */
  async #update(): Promise<void> {
    const panel = this.#panel ?? (await this.#open());
    // Without the replicas step by step, which the network has of its own.
    const asked = read<PageData>('report', { runs: this.#id, frames: 'no' }).catch(() => undefined);
    const before = this.#complete
      ? undefined
      : await read<{ network: NetworkReport | null }>('network', { run: this.#id });
    const data = await asked;
    if (before !== undefined) {
      panel.history(before.network, data?.report.runs[0]?.tensors ?? []);
      this.#complete = true;
      panel.take(this.#early);
      this.#early = [];
    }
    if (!panel.element.isConnected) this.#place.replaceChildren(panel.element);
    this.#tellRow();
    if (data !== undefined) {
      this.#tiles.show(data.report.runs[0]!);
      this.#figures.show(data);
    }
    panel.draw();
  }

  async #open(): Promise<NetworkPanel> {
    const query = { run: this.#id };
    const [experiment, { yaml }] = await Promise.all([
      read<Experiment>('settings', query),
      read<{ yaml: string }>('recipe', query),
    ]);
    this.#panel = new NetworkPanel(this.#id, experiment, () => this.#pulse.ask());
    this.#settings.append(
      make('p', { className: 'hint' }, 'All that differs from the defaults.'),
      make('pre', {}, yaml),
    );
    return this.#panel;
  }

  list({ runs, readOnly }: Listed): void {
    const row = runs.find((each) => each.id === this.#id);
    const before = this.#row;
    this.#readOnly = readOnly;
    this.#row = row;
    if (row === undefined) {
      const gone = 'This run is not there (any more). ';
      renew(this.#title, gone, () => [
        make('h1', {}, this.#id),
        make('p', {}, gone, make('a', { href: '#/runs' }, 'All runs')),
      ]);
      for (const place of [this.#lead, this.#progress, this.#reason]) renew(place, '', () => []);
    } else if (row.status !== before?.status || row.stopping !== before.stopping) {
      this.#tellRow();
      // What it was is in its database now.
      if (before?.status === 'running') this.#complete = false;
      this.#pulse.hurry();
    } else if (JSON.stringify(row) !== JSON.stringify(before)) this.#pulse.ask();
  }

  /** Where it stands and what can be done with it. */
  #tellRow(): void {
    const row = this.#row;
    if (row === undefined) return;
    const { name, status, stopping, steps, step, reason } = row;
    const readOnly = this.#readOnly;
    renew(this.#title, JSON.stringify([name, status, stopping, readOnly]), () => this.#titleOf(row));
    const facts = [
      row.task,
      row.topology,
      row.method,
      `${number(row.replicas)} replica${row.replicas === 1 ? '' : 's'}`,
      `seed ${row.seed}`,
      `started ${whenText(row.startedAt)}`,
      ...(row.host === null ? [] : [`on ${row.host}`]),
      row.id,
    ].join(' · ');
    renew(this.#lead, facts, () => [facts]);
    const of = steps === null ? '' : ` of ${number(steps)}`;
    const share = `, ${Math.floor(100 * shareDone(row))} %`;
    const done = status === 'complete' ? `${number(step)} steps` : `step ${number(step)}${of}${share}`;
    const told = [done, timeText(row)].filter(Boolean).join(', ');
    renew(this.#progress, `${status} ${told}`, () => [
      ...(status === 'complete' ? [] : [bar(row)]),
      make('span', {}, told),
    ]);
    renew(this.#reason, reason ?? '', () => [reason ?? '']);
  }

  #titleOf(row: RunRow): Node[] {
    const readOnly = this.#readOnly;
    const remove = action('Delete…', () => deleteAll([row]).then((gone) => gone && (location.hash = '#/runs')));
    const link = (view: string, key: string, text: string) =>
      make('a', { className: 'plain', href: addressOf(view, '', { [key]: this.#id }) }, text);
    return [
      make('h1', {}, row.name, ' ', badge(row)),
      make(
        'div',
        { className: 'tools' },
        ...steer(row, readOnly),
        link('compare', 'runs', 'Compare with others'),
        ...(readOnly ? [] : [link('start', 'run', 'Start a variation')]),
        ...(readOnly || row.status === 'running' ? [] : [remove]),
      ),
    ];
  }

  lines(lines: readonly LiveLine[]): void {
    this.#tellLost(lines);
    const presence = lines.findLast((line) => line.type === 'presence');
    if (presence !== undefined) this.#away.textContent = awayText(presence);
    const messages = lines.findLast((line) => line.type === 'messages');
    if (messages !== undefined) this.#messages.textContent = messagesText(messages);
    if (this.#complete) this.#panel!.take(lines);
    else this.#early.push(...lines);
    this.#pulse.ask();
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
    const told = [...this.#losses.values()];
    renew(this.#lost, told.join('\n'), () => {
      this.#lost.hidden = told.length === 0;
      return told.map((text) => make('li', {}, text));
    });
  }

  redraw(): void {
    this.#panel?.draw();
    this.#figures.redraw();
  }

  close(): void {
    this.#pulse.close();
    this.#figures.close();
  }
}
