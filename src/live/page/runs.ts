import { number } from '../../base/format.ts';
import { seconds } from '../../report/figure/axis.ts';
import { make } from '../../report/page/controls.ts';
import type { RunRow } from '../catalogue.ts';
import { addressOf, choose, here } from './address.ts';
import { type Listed, write } from './ask.ts';
import { confirmed, refused } from './question.ts';

const percent = (share: number | null) => (share === null ? '–' : `${(100 * share).toFixed(2)} %`);
const svgSpace = 'http://www.w3.org/2000/svg';

function sparkline(values: readonly number[]): Node {
  if (values.length < 2) return document.createTextNode('');
  const [width, height] = [90, 22];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const at = (value: number, i: number) =>
    `${((i / (values.length - 1)) * (width - 4) + 2).toFixed(1)},${(height - 2 - ((value - low) / (high - low || 1)) * (height - 4)).toFixed(1)}`;
  const svg = document.createElementNS(svgSpace, 'svg');
  const line = document.createElementNS(svgSpace, 'polyline');
  for (const [key, value] of Object.entries({ width, height, 'aria-hidden': 'true' }))
    svg.setAttribute(key, String(value));
  line.setAttribute('points', values.map(at).join(' '));
  svg.append(line);
  svg.setAttribute('class', 'spark');
  return svg;
}

export const shareDone = ({ step, steps, status }: RunRow) =>
  status === 'complete' ? 1 : steps ? Math.min(1, step / steps) : 0;

export function badge(row: RunRow): HTMLElement {
  return make('span', { className: `badge ${row.status}` }, row.stopping ? 'stopping' : row.status);
}

export function bar(row: RunRow): HTMLElement {
  const inner = make('span', {});
  inner.style.width = `${(100 * shareDone(row)).toFixed(1)}%`;
  const outer = make(
    'span',
    {
      className: `meter ${row.status}`,
      title: `${number(row.step)} of ${row.steps === null ? '?' : number(row.steps)} steps`,
    },
    inner,
  );
  return outer;
}

/** Stop, resume and delete, as far as they make sense. */
export function buttons(row: RunRow, readOnly: boolean, gone: () => void = () => {}): HTMLElement[] {
  if (readOnly) return [];
  const button = (label: string, act: () => Promise<unknown>, disabled = false) => {
    const made = make('button', { type: 'button', disabled }, label);
    made.addEventListener('click', () => {
      made.disabled = true;
      act()
        .catch(refused)
        .finally(() => (made.disabled = false));
    });
    return made;
  };
  if (row.status === 'running')
    return [button(row.stopping ? 'Stopping…' : 'Stop', () => write('stop', { run: row.id }), row.stopping)];
  const remove = async () => {
    const sure = await confirmed(
      `Delete ${row.id}?`,
      'Its results, events and checkpoints are gone for good.',
      'Delete',
    );
    if (!sure) return;
    await write('delete', { run: row.id });
    gone();
  };
  const canResume = row.status === 'stopped' || row.status === 'interrupted';
  return [...(canResume ? [button('Resume', () => write('resume', { run: row.id }))] : []), button('Delete', remove)];
}

const columns: readonly { readonly id: string; readonly label: string; by(row: RunRow): string | number }[] = [
  { id: 'name', label: 'run', by: ({ id }) => id },
  { id: 'status', label: 'state', by: ({ status }) => status },
  { id: 'progress', label: 'progress', by: shareDone },
  { id: 'left', label: 'left', by: ({ left, seconds }) => left ?? seconds ?? 0 },
  { id: 'accuracy', label: 'accuracy', by: ({ accuracy }) => accuracy ?? -1 },
  { id: 'replicas', label: 'replicas', by: ({ replicas }) => replicas },
  { id: 'started', label: 'started', by: ({ startedAt }) => startedAt },
];

function sorted(rows: readonly RunRow[], by: string, down: boolean): RunRow[] {
  const column = columns.find(({ id }) => id === by) ?? columns.at(-1)!;
  const compare = (a: RunRow, b: RunRow) => {
    const [x, y] = [column.by(a), column.by(b)];
    return typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y));
  };
  return rows.toSorted((a, b) => (down ? -1 : 1) * compare(a, b));
}

/** All runs: filtered, sorted, seeds together if wanted; chosen ones can be compared. */
export class RunsView {
  readonly element = make('section', {});
  #listed: Listed | undefined;
  readonly #filter = make('input', {
    type: 'search',
    placeholder: 'Filter: name, task, state…',
    value: here().chosen.get('filter') ?? '',
  });
  readonly #group = make('input', { type: 'checkbox', checked: here().chosen.get('seeds') === 'together' });
  readonly #picked = new Set<string>();
  readonly #body = make('div', {});
  readonly #compare = make('a', { className: 'button', href: '#/compare' }, 'Compare');
  #drawn = '';

  constructor() {
    this.#filter.setAttribute('aria-label', 'Filter the runs');
    this.#filter.addEventListener('input', () => {
      choose({ filter: this.#filter.value });
      this.#draw();
    });
    this.#group.addEventListener('change', () => {
      choose({ seeds: this.#group.checked ? 'together' : '' });
      this.#draw();
    });
    const tools = make(
      'div',
      { className: 'tools' },
      this.#filter,
      make('label', {}, this.#group, ' seeds together'),
      this.#compare,
    );
    this.element.append(make('h1', {}, 'Runs'), tools, this.#body);
  }

  list(listed: Listed): void {
    this.#listed = listed;
    this.#draw();
  }

  #draw(): void {
    if (this.#listed === undefined) return;
    const { runs, root, readOnly } = this.#listed;
    const words = this.#filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (row: RunRow) =>
      `${row.id} ${row.task} ${row.status} ${row.method} n=${row.replicas} seed=${row.seed}`.toLowerCase();
    const { chosen } = here();
    const [by, down] = [chosen.get('sort') ?? 'started', (chosen.get('order') ?? 'down') === 'down'];
    const rows = sorted(
      runs.filter((row) => words.every((word) => text(row).includes(word))),
      by,
      down,
    );
    const drawn = JSON.stringify([rows, words, by, down, this.#group.checked, [...this.#picked]]);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    this.#showPicked();
    if (runs.length === 0) {
      this.#body.replaceChildren(
        make(
          'p',
          { className: 'card' },
          `There are no runs in ${root} yet. `,
          make('a', { href: '#/start' }, 'Start one'),
        ),
      );
      return;
    }
    const head = columns.map(({ id, label }) => {
      const button = make(
        'button',
        { type: 'button', className: 'sort' },
        `${label}${by === id ? (down ? ' ↓' : ' ↑') : ''}`,
      );
      button.addEventListener('click', () => {
        choose({ sort: id, order: by === id && down ? 'up' : 'down' });
        this.#draw();
      });
      return make('th', { scope: 'col' }, button);
    });
    const body = this.#group.checked ? this.#grouped(rows, readOnly) : rows.map((row) => this.#row(row, readOnly));
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.key : undefined;
    const table = make(
      'table',
      {},
      make('thead', {}, make('tr', {}, make('th', {}), ...head, make('th', {}), make('th', {}))),
      make('tbody', {}, ...body),
    );
    this.#body.replaceChildren(
      make('div', { className: 'card scroll' }, table),
      make('p', { className: 'hint' }, `${number(rows.length)} of ${number(runs.length)} runs in ${root}`),
    );
    if (focused !== undefined) this.#body.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  #grouped(rows: readonly RunRow[], readOnly: boolean): HTMLElement[] {
    const groups = new Map<string, RunRow[]>();
    for (const row of rows) groups.set(row.group, [...(groups.get(row.group) ?? []), row]);
    return [...groups.values()].flatMap((group) => {
      if (group.length === 1) return [this.#row(group[0]!, readOnly)];
      const scores = group.flatMap(({ accuracy }) => accuracy ?? []);
      const mean = scores.length === 0 ? null : scores.reduce((sum, each) => sum + each, 0) / scores.length;
      const head = make(
        'tr',
        { className: 'scale' },
        make(
          'th',
          { colSpan: 10 },
          `${group[0]!.name}, n = ${group[0]!.replicas}: ${group.length} seeds, mean accuracy ${percent(mean)}`,
        ),
      );
      return [head, ...group.map((row) => this.#row(row, readOnly))];
    });
  }

  #row(row: RunRow, readOnly: boolean): HTMLElement {
    const pick = make('input', { type: 'checkbox', checked: this.#picked.has(row.id) });
    pick.setAttribute('aria-label', `Compare ${row.id}`);
    pick.dataset.key = `pick ${row.id}`;
    pick.addEventListener('change', () => {
      pick.checked ? this.#picked.add(row.id) : this.#picked.delete(row.id);
      this.#showPicked();
    });
    const link = make('a', { href: addressOf('run', row.id) }, row.name);
    link.dataset.key = row.id;
    const time = row.left !== null ? seconds(row.left) : row.seconds !== null ? `took ${seconds(row.seconds)}` : '–';
    const cells: (Node | string)[][] = [
      [badge(row), ...(row.host === null ? [] : [` on ${row.host}`])],
      [bar(row)],
      [time],
      [percent(row.accuracy)],
      [number(row.replicas)],
      [row.startedAt.slice(0, 16).replace('T', ' ')],
      [sparkline(row.curve)],
      buttons(row, readOnly),
    ];
    const name = make(
      'th',
      { scope: 'row' },
      link,
      make('small', {}, row.id.slice(row.name.length + 1), ` · seed ${row.seed} · ${row.task}`),
    );
    if (row.reason !== null) name.append(make('small', { className: 'bad' }, row.reason));
    return make('tr', {}, make('td', {}, pick), name, ...cells.map((cell) => make('td', {}, ...cell)));
  }

  #showPicked(): void {
    const picked = [...this.#picked];
    this.#compare.href = addressOf('compare', '', { runs: picked.join(',') });
    this.#compare.textContent = picked.length === 0 ? 'Compare' : `Compare ${picked.length}`;
    this.#compare.classList.toggle('off', picked.length === 0);
  }
}
