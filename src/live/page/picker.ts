import { number } from '../../base/format.ts';
import { make } from '../../report/page/controls.ts';
import type { RunRow } from '../catalogue.ts';
import { scoreText } from './row.ts';
import { searchedText, together } from './runs.ts';

/** The runs that are compared as chips, and a list to add others from; seeds of one group go together. */
export class RunPicker {
  readonly element = make('div', { className: 'picker' });
  readonly #chips = make('div', { className: 'picked' });
  readonly #filter = make('input', { type: 'search', placeholder: 'Filter, as in: ring n=64' });
  readonly #list = make('div', { className: 'pick-list' });
  readonly #more = make('details', { className: 'card' }, make('summary', {}, 'Choose runs'), this.#filter, this.#list);
  readonly #choose: (ids: readonly string[]) => void;
  #groups: readonly (readonly RunRow[])[] = [];
  #chosen: ReadonlySet<string> = new Set();
  #drawn = '';

  constructor(choose: (ids: readonly string[]) => void) {
    this.#choose = choose;
    this.#filter.setAttribute('aria-label', 'Filter the runs to choose from');
    this.#filter.addEventListener('input', () => this.#drawList());
    this.#more.addEventListener('toggle', () => this.#drawList());
    this.element.append(this.#chips, this.#more);
  }

  show(runs: readonly RunRow[], ids: readonly string[]): void {
    this.#groups = together(runs);
    this.#chosen = new Set(ids);
    const drawn = JSON.stringify([ids, runs.map(({ id, status }) => [id, status])]);
    if (drawn === this.#drawn) return;
    if (this.#drawn === '' && ids.length === 0) this.#more.open = true;
    this.#drawn = drawn;
    this.#drawChips();
    this.#drawList();
  }

  #set(ids: readonly string[], on: boolean): void {
    const all = new Set(this.#chosen);
    for (const id of ids) on ? all.add(id) : all.delete(id);
    this.#choose([...all]);
  }

  #drawChips(): void {
    const chips = this.#groups.flatMap((group) => {
      const own = group.filter(({ id }) => this.#chosen.has(id));
      if (own.length === 0) return [];
      const { name, replicas, seed } = own[0]!;
      const seeds = own.length === 1 ? `seed ${seed}` : `${own.length} seeds`;
      const remove = make('button', { type: 'button', className: 'quiet' }, '×');
      remove.setAttribute('aria-label', `Leave out ${name}, ${seeds}`);
      remove.addEventListener('click', () =>
        this.#set(
          own.map(({ id }) => id),
          false,
        ),
      );
      return [
        make('span', { className: 'chip' }, name, make('small', {}, `n = ${number(replicas)}, ${seeds}`), remove),
      ];
    });
    this.#chips.replaceChildren(...chips);
  }

  #drawList(): void {
    if (!this.#more.open) return;
    const words = this.#filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (row: RunRow) => words.every((word) => searchedText(row).includes(word));
    const focused = this.#list.contains(document.activeElement)
      ? (document.activeElement as HTMLInputElement).value
      : undefined;
    const rows = this.#groups.flatMap((group) => {
      const own = group.filter(fits);
      if (own.length === 0) return [];
      const { name, replicas, task, topology, status, id } = own[0]!;
      const on = own.filter((each) => this.#chosen.has(each.id)).length;
      const box = make('input', {
        type: 'checkbox',
        value: id,
        checked: on === own.length,
        indeterminate: on > 0 && on < own.length,
      });
      box.addEventListener('change', () =>
        this.#set(
          own.map((each) => each.id),
          box.checked,
        ),
      );
      const states = own.every((each) => each.status === status) ? status : 'several states';
      return [
        make(
          'label',
          {},
          box,
          make('strong', {}, name),
          make(
            'span',
            { className: 'muted' },
            [
              `n = ${number(replicas)}`,
              topology,
              task,
              own.length === 1 ? `seed ${own[0]!.seed}` : `${own.length} seeds`,
              states,
              own.length === 1 ? scoreText(own[0]!) : '',
            ]
              .filter(Boolean)
              .join(' · '),
          ),
        ),
      ];
    });
    this.#list.replaceChildren(...(rows.length > 0 ? rows : [make('p', { className: 'muted' }, 'No run fits.')]));
    if (focused !== undefined)
      for (const box of this.#list.querySelectorAll('input')) if (box.value === focused) box.focus();
  }
}
