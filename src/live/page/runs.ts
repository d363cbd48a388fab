import { number } from '../../base/format.ts';
import { make } from '../../report/page/controls.ts';
import type { RunRow } from '../catalogue.ts';
import { addressOf, choose, here } from './address.ts';
import type { Listed } from './ask.ts';
import { renew } from './renew.ts';
import {
  about,
  action,
  canDelete,
  canResume,
  canStop,
  deleteAll,
  meter,
  resumeAll,
  shareDone,
  stopAll,
} from './row.ts';
import { columns, RunTable } from './run-table.ts';

function sorted(rows: readonly RunRow[], by: string, down: boolean): RunRow[] {
  const column = columns.find(({ id }) => id === by) ?? columns.at(-1)!;
  const compare = (a: RunRow, b: RunRow) => {
    const [x, y] = [column.by(a), column.by(b)];
    return typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y));
  };
  return rows.toSorted((a, b) => (down ? -1 : 1) * compare(a, b));
}

/** What a filter looks at: every word must be in it. */
export const searchedText = (row: RunRow) =>
  `${row.id} ${row.task} ${row.status} ${row.method} ${row.topology} n=${row.replicas} seed=${row.seed}`.toLowerCase();

/** Runs of one group, by their seeds. */
export function together(rows: readonly RunRow[]): RunRow[][] {
  const groups = new Map<string, RunRow[]>();
  for (const row of rows) {
    const group = groups.get(row.group);
    if (group === undefined) groups.set(row.group, [row]);
    else group.push(row);
  }
  return [...groups.values()].map((group) => group.sort((a, b) => a.seed - b.seed));
}

/** All runs: filtered, sorted, seeds together; chosen ones are compared, stopped, resumed or deleted. */
export class RunsView {
  readonly element = make('section', { className: 'runs-view' });
  #listed: Listed | undefined;
  readonly #filter = make('input', {
    type: 'search',
    placeholder: 'Filter, as in: ring n=64 running',
    value: here().chosen.get('filter') ?? '',
  });
  readonly #group = make('input', { type: 'checkbox', checked: here().chosen.get('seeds') !== 'apart' });
  readonly #states = make('div', { className: 'states' });
  readonly #chosen = make('div', { className: 'chosen' });
  readonly #lists = make('div', { className: 'lists' });
  readonly #table = new RunTable({
    toggle: (what, ids, on) => this.#toggle(what, ids, on),
    sort: (by, down) => {
      choose({ sort: by, order: down ? 'down' : 'up' });
      this.#draw();
    },
  });
  readonly #foot = make('p', { className: 'hint' });
  readonly #empty = make('div', { className: 'card empty-list', hidden: true });

  constructor() {
    this.#filter.setAttribute('aria-label', 'Filter the runs');
    this.#filter.addEventListener('input', () => {
      choose({ filter: this.#filter.value });
      this.#draw();
    });
    this.#group.addEventListener('change', () => {
      choose({ seeds: this.#group.checked ? '' : 'apart' });
      this.#draw();
    });
    const tools = make(
      'div',
      { className: 'tools' },
      this.#filter,
      this.#states,
      make('label', { className: 'check-label' }, this.#group, 'seeds together'),
      this.#chosen,
    );
    this.element.append(
      make('h1', { className: 'unseen' }, 'Runs'),
      this.#lists,
      tools,
      this.#empty,
      this.#table.element,
      this.#foot,
    );
  }

  list(listed: Listed): void {
    this.#listed = listed;
    this.#draw();
  }

  focusFilter(): void {
    this.#filter.focus();
  }

  #ids(key: string): Set<string> {
    return new Set((here().chosen.get(key) ?? '').split(',').filter(Boolean));
  }

  #toggle(key: string, ids: readonly string[], on: boolean): void {
    const all = this.#ids(key);
    for (const id of ids) on ? all.add(id) : all.delete(id);
    choose({ [key]: [...all].join(',') });
    this.#draw();
  }

  #draw(): void {
    if (this.#listed === undefined) return;
    const { runs, root, readOnly } = this.#listed;
    const words = this.#filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const { chosen } = here();
    const [by, down] = [chosen.get('sort') ?? 'started', (chosen.get('order') ?? 'down') === 'down'];
    const rows = sorted(
      runs.filter((row) => words.every((word) => searchedText(row).includes(word))),
      by,
      down,
    );
    this.#drawLists();
    this.#drawStates(runs);
    this.#drawChosen(rows);
    this.#empty.hidden = runs.length > 0;
    this.#table.element.hidden = rows.length === 0;
    if (runs.length === 0 && this.#empty.childElementCount === 0)
      this.#empty.append(
        make('p', {}, `There are no runs in ${root} yet.`),
        make('p', {}, make('a', { className: 'button', href: '#/start' }, 'Start the first one')),
        make('p', { className: 'hint' }, 'or, in a terminal: npx dbench compare. It shows up here by itself.'),
      );
    const groups = this.#group.checked ? together(rows) : rows.map((row) => [row]);
    const [picked, open] = [this.#ids('picked'), this.#ids('open')];
    this.#table.draw(groups, { by, down, picked, open, readOnly });
    this.#foot.textContent =
      runs.length === 0
        ? ''
        : `${rows.length === runs.length ? '' : `${number(rows.length)} of `}${number(runs.length)} run${runs.length === 1 ? '' : 's'} in ${root}`;
  }

  /** Comparisons and sweeps as a whole: what is still to come has no row. */
  #drawLists(): void {
    const { lists, jobs, runs } = this.#listed!;
    const waiting = jobs.filter(({ state }) => state === 'waiting').length;
    const shares = lists.map(({ ended, total, run }) => {
      const now = runs.find(({ id }) => id === run);
      return (ended + (now === undefined ? 0 : shareDone(now))) / total;
    });
    const cards = lists.map(({ title, total, ended, run, left }, i) =>
      make(
        'div',
        { className: 'card list' },
        make('strong', {}, title),
        meter(shares[i]!, 'running', `${ended} of ${total} runs done`),
        make(
          'span',
          {},
          run === null
            ? `${number(ended)} of ${number(total)} runs done`
            : `run ${number(ended + 1)} of ${number(total)}: `,
          ...(run === null ? [] : [make('a', { href: addressOf('run', run) }, run)]),
        ),
        make('span', { className: 'muted' }, left === null ? '' : `all in about ${about(left)}`),
      ),
    );
    const queued =
      waiting === 0
        ? []
        : [make('p', { className: 'hint' }, make('a', { href: '#/start' }, `${waiting} more in the queue`))];
    renew(this.#lists, JSON.stringify([lists, waiting, shares.map((share) => share.toFixed(3))]), () => [
      ...cards,
      ...queued,
    ]);
  }

  /** How many there are of each state; a click shows these alone. */
  #drawStates(runs: readonly RunRow[]): void {
    const counts = new Map<string, number>();
    for (const { status } of runs) counts.set(status, (counts.get(status) ?? 0) + 1);
    const order = ['running', 'stopped', 'interrupted', 'diverged', 'complete'];
    const states = order.filter((status) => counts.has(status));
    const words = this.#filter.value.toLowerCase().split(/\s+/);
    const text = JSON.stringify([states.map((status) => counts.get(status)), states, words]);
    if (this.#states.dataset.text === text) return;
    this.#states.dataset.text = text;
    const focused = this.#states.contains(document.activeElement) ? document.activeElement!.textContent : null;
    this.#states.replaceChildren(
      ...states.map((status) => {
        const on = words.includes(status);
        const button = make(
          'button',
          { type: 'button', className: `state ${status}` },
          `${number(counts.get(status)!)} ${status}`,
        );
        button.setAttribute('aria-pressed', String(on));
        button.addEventListener('click', () => {
          const others = words.filter((word) => word !== '' && !order.includes(word));
          this.#filter.value = [...others, ...(on ? [] : [status])].join(' ');
          choose({ filter: this.#filter.value });
          this.#draw();
        });
        return button;
      }),
    );
    for (const button of this.#states.querySelectorAll('button')) if (button.textContent === focused) button.focus();
  }

  /** What can be done with the runs that are ticked. */
  #drawChosen(shown: readonly RunRow[]): void {
    const { runs, readOnly } = this.#listed!;
    const picked = this.#ids('picked');
    const rows = runs.filter(({ id }) => picked.has(id));
    const text = JSON.stringify([rows.map(({ id, status, stopping }) => [id, status, stopping]), shown.length > 0]);
    renew(this.#chosen, text, () => {
      const hint = `Tick runs to compare${readOnly ? '' : ', stop or delete'} them.`;
      if (rows.length === 0) return shown.length === 0 ? [] : [make('span', { className: 'muted' }, hint)];
      const clear = () => this.#toggle('picked', [...picked], false);
      const some = (can: (row: RunRow) => boolean, label: string, act: () => Promise<unknown>) =>
        readOnly || !rows.some(can) ? [] : [action(label, act)];
      const none = make('button', { type: 'button', className: 'quiet' }, 'Clear');
      none.addEventListener('click', clear);
      const all = rows.map(({ id }) => id).join(',');
      return [
        make('span', { className: 'muted' }, `${number(rows.length)} ticked`),
        make('a', { className: 'button', href: addressOf('compare', '', { runs: all }) }, 'Compare'),
        ...some(canStop, 'Stop', () => stopAll(rows)),
        ...some(canResume, 'Resume', () => resumeAll(rows)),
        ...some(canDelete, 'Delete…', () => deleteAll(rows).then((done) => done && clear())),
        none,
      ];
    });
  }
}
