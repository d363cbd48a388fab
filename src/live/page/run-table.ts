import { number } from '../../base/format.ts';
import { make } from '../../report/page/controls.ts';
import type { RunRow } from '../catalogue.ts';
import { addressOf } from './address.ts';
import { badge, bar, meter, scoreText, shareDone, sparkline, steer, timeText, whenText } from './row.ts';

interface ShownColumn {
  readonly id: string;
  readonly label: string;
  by(row: RunRow): string | number;
}

export const columns: readonly ShownColumn[] = [
  { id: 'name', label: 'run', by: ({ id }) => id },
  { id: 'topology', label: 'topology', by: ({ topology, method }) => `${topology} ${method}` },
  { id: 'task', label: 'task', by: ({ task }) => task },
  { id: 'replicas', label: 'replicas', by: ({ replicas }) => replicas },
  { id: 'score', label: 'test score', by: ({ score }) => score ?? -1 },
  { id: 'curve', label: '', by: () => 0 },
  { id: 'status', label: 'state', by: (row) => `${row.status} ${(1 - shareDone(row)).toFixed(6)}` },
  { id: 'time', label: 'time', by: ({ left, seconds }) => left ?? seconds ?? 0 },
  { id: 'started', label: 'started', by: ({ startedAt }) => startedAt },
];

/** The children in this order; what is in its place is left alone, with its focus. */
function arrange(parent: Element, children: readonly Element[]): void {
  const wanted = new Set(children);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  children.forEach((child, i) => {
    if (parent.children[i] !== child) parent.insertBefore(child, parent.children[i] ?? null);
  });
}

/** How the table is shown, and what is ticked and unfolded there. */
export interface TableLook {
  readonly by: string;
  readonly down: boolean;
  readonly picked: ReadonlySet<string>;
  readonly open: ReadonlySet<string>;
  readonly readOnly: boolean;
}

/** What a reader does with the table. */
export interface TableDeeds {
  sort(by: string, down: boolean): void;
  /** Ticks or unfolds. */
  toggle(what: 'picked' | 'open', ids: readonly string[], on: boolean): void;
}

/** Runs in rows, seeds of one group under one; rows that did not change stay as they are. */
export class RunTable {
  readonly #deeds: TableDeeds;
  readonly #head = make('tr', {});
  readonly #body = make('tbody', {});
  readonly element = make(
    'div',
    { className: 'card scroll' },
    make('table', { className: 'runs' }, make('thead', {}, this.#head), this.#body),
  );
  readonly #drawn = new Map<string, { readonly text: string; readonly element: HTMLTableRowElement }>();

  constructor(deeds: TableDeeds) {
    this.#deeds = deeds;
  }

  draw(groups: readonly (readonly RunRow[])[], look: TableLook): void {
    this.#drawHead(look.by, look.down);
    const drawn = groups.flatMap((group) => {
      if (group.length === 1) return [this.#row(group[0]!, look, false)];
      const open = look.open.has(group[0]!.id);
      return [
        this.#groupRow(group, look.picked, open),
        ...(open ? group.map((row) => this.#row(row, look, true)) : []),
      ];
    });
    arrange(this.#body, drawn);
    const shown = new Set<Element>(drawn);
    for (const [key, { element }] of this.#drawn) if (!shown.has(element)) this.#drawn.delete(key);
  }

  #drawHead(by: string, down: boolean): void {
    const text = `${by} ${down}`;
    if (this.#head.dataset.text === text) return;
    this.#head.dataset.text = text;
    const focused = this.#head.contains(document.activeElement) ? (document.activeElement as HTMLElement) : undefined;
    const all = make('input', { type: 'checkbox', title: 'Tick all that are shown' });
    all.setAttribute('aria-label', 'Tick all runs that are shown');
    all.addEventListener('change', () => {
      const ids = [...this.#body.querySelectorAll<HTMLInputElement>('input[data-runs]')].flatMap((box) =>
        box.dataset.runs!.split(','),
      );
      this.#deeds.toggle('picked', ids, all.checked);
    });
    const cells = columns.map(({ id, label }) => {
      const cell = make('th', { scope: 'col', className: id });
      if (label === '') return cell;
      const mark = by === id ? (down ? ' ↓' : ' ↑') : '';
      const button = make('button', { type: 'button', className: 'sort' }, label, mark);
      button.dataset.key = id;
      button.addEventListener('click', () => {
        this.#deeds.sort(id, !(by === id && down));
      });
      if (by === id) cell.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      cell.append(button);
      return cell;
    });
    this.#head.replaceChildren(make('td', { className: 'pick' }, all), ...cells, make('td', { className: 'act' }));
    if (focused?.dataset.key !== undefined)
      this.#head.querySelector<HTMLElement>(`[data-key=${focused.dataset.key}]`)?.focus();
  }

  /** The element of a row, made anew only if what it says has changed. */
  #kept(key: string, text: string, made: () => HTMLTableRowElement): HTMLTableRowElement {
    const before = this.#drawn.get(key);
    if (before?.text === text) return before.element;
    const element = made();
    // Focus stays where it was, as far as that is still there.
    if (before?.element.contains(document.activeElement)) {
      const label = document.activeElement!.getAttribute('data-key');
      queueMicrotask(() => element.querySelector<HTMLElement>(`[data-key=${label}]`)?.focus());
    }
    this.#drawn.set(key, { text, element });
    return element;
  }

  #box(rows: readonly RunRow[], picked: ReadonlySet<string>, label: string): HTMLInputElement {
    const ids = rows.map(({ id }) => id);
    const on = ids.filter((id) => picked.has(id)).length;
    const box = make('input', {
      type: 'checkbox',
      checked: on === ids.length,
      indeterminate: on > 0 && on < ids.length,
    });
    box.dataset.runs = ids.join(',');
    box.dataset.key = 'pick';
    box.setAttribute('aria-label', `Choose ${label}`);
    box.addEventListener('change', () => this.#deeds.toggle('picked', ids, box.checked));
    return box;
  }

  #groupRow(group: readonly RunRow[], picked: ReadonlySet<string>, open: boolean): HTMLTableRowElement {
    const first = group[0]!;
    const ids = group.map(({ id }) => id);
    const text = JSON.stringify([group, open, ids.map((id) => picked.has(id))]);
    return this.#kept(`group ${first.id}`, text, () => {
      const toggle = make(
        'button',
        { type: 'button', className: 'unfold' },
        `${open ? '▾' : '▸'} ${group.length} seeds`,
      );
      toggle.dataset.key = 'unfold';
      toggle.setAttribute('aria-expanded', String(open));
      toggle.setAttribute('aria-label', `The ${group.length} seeds of ${first.name}`);
      toggle.addEventListener('click', () => this.#deeds.toggle('open', [first.id], !open));
      const scores = group.flatMap(({ score }) => score ?? []);
      const mean = scores.length === 0 ? null : scores.reduce((sum, each) => sum + each, 0) / scores.length;
      const of = (score: number) => scoreText({ ...first, score });
      const states = new Map<string, number>();
      for (const { status } of group) states.set(status, (states.get(status) ?? 0) + 1);
      const marks = [...states].map(([status, count]) =>
        make('span', { className: `badge ${status}` }, states.size === 1 ? status : `${count} ${status}`),
      );
      const share = group.reduce((sum, row) => sum + shareDone(row), 0) / group.length;
      const took = group.reduce((sum, row) => sum + (row.seconds ?? 0), 0);
      return this.#cells(
        {
          pick: [this.#box(group, picked, `all seeds of ${first.name}`)],
          name: [make('a', { href: addressOf('compare', '', { runs: ids.join(',') }) }, first.name), toggle],
          score:
            mean === null
              ? ['–']
              : [
                  make(
                    'small',
                    { title: 'from the least to the largest seed' },
                    `${of(Math.min(...scores)).replace(' %', '')} to ${of(Math.max(...scores)).replace(' %', '')}`,
                  ),
                  of(mean),
                ],
          curve: [sparkline(group.map(({ curve }) => curve))],
          status: [
            ...marks,
            ...(share < 1 ? [meter(share, 'running', `${Math.round(100 * share)} % of all steps`)] : []),
          ],
          time: [took > 0 ? timeText({ ...first, left: null, seconds: took }) : ''],
          act: [],
        },
        first,
        'group',
      );
    });
  }

  #row(row: RunRow, { picked, readOnly }: TableLook, member: boolean): HTMLTableRowElement {
    const text = JSON.stringify([row, member, picked.has(row.id)]);
    return this.#kept(row.id, text, () => {
      const link = make('a', { href: addressOf('run', row.id) }, row.name);
      link.dataset.key = 'link';
      const buttons = steer(row, readOnly);
      for (const button of buttons) button.dataset.key = 'steer';
      const name = [link, make('small', {}, `${row.id.slice(row.name.length + 1)} · seed ${row.seed}`)];
      if (row.reason !== null) name.push(make('small', { className: 'bad', title: row.reason }, row.reason));
      return this.#cells(
        {
          pick: [this.#box([row], picked, row.id)],
          name,
          score: [scoreText(row)],
          curve: [sparkline([row.curve])],
          status: [
            badge(row),
            ...(row.status === 'complete' ? [] : [bar(row), `${Math.floor(100 * shareDone(row))} %`]),
            ...(row.host === null ? [] : [make('small', {}, `on ${row.host}`)]),
          ],
          time: [timeText(row)],
          act: buttons,
        },
        row,
        member ? 'member' : '',
      );
    });
  }

  #cells(
    of: Readonly<Record<string, readonly (Node | string)[]>>,
    row: RunRow,
    className: string,
  ): HTMLTableRowElement {
    const cell = (id: string, ...content: (Node | string)[]) => make('td', { className: id }, ...content);
    const scored = row.scoreName === 'error' ? [make('small', { className: 'unit' }, 'error')] : [];
    return make(
      'tr',
      { className },
      cell('pick', ...of.pick!),
      make('th', { scope: 'row', className: 'name' }, make('span', { className: 'line' }, ...of.name!)),
      cell('topology', row.topology, ...(row.method === 'dpsgd' ? [] : [make('small', {}, row.method)])),
      cell('task', row.task),
      cell('replicas', `${number(row.replicas)}`),
      cell('score', ...scored, ...of.score!),
      cell('curve', ...of.curve!),
      make('td', { className: 'status' }, make('span', { className: 'line' }, ...of.status!)),
      cell('time', ...of.time!),
      make('td', { className: 'started', title: new Date(row.startedAt).toLocaleString() }, whenText(row.startedAt)),
      cell('act', ...of.act!),
    );
  }
}
