import type { PageData } from '../../report/figure/figure.ts';
import { figures } from '../../report/figure/figures.ts';
import { make } from '../../report/page/controls.ts';
import type { Observation } from '../../report/report.ts';
import { choose, here } from './address.ts';
import { type Listed, read } from './ask.ts';
import { Figures } from './figures.ts';

const verdict = (holds: boolean | null) => (holds === null ? 'Cannot be told yet' : holds ? 'Holds' : 'Does not hold');

function observation({ claim, holds, needs, finding, criterion }: Observation): HTMLElement {
  return make(
    'article',
    { className: `card observation-${holds}` },
    make('p', { className: 'verdict' }, verdict(holds)),
    make('p', { className: 'claim' }, claim),
    ...(finding === '' ? [] : [make('p', { className: 'finding' }, finding)]),
    ...(needs === null ? [] : [make('p', { className: 'finding' }, `Needs ${needs}.`)]),
    make('p', { className: 'criterion' }, `Criterion: ${criterion}`),
  );
}

/** The report's figures and observations of runs that are chosen, while they are going on. */
export class CompareView {
  readonly element = make('section', {});
  readonly #figures = new Figures(figures);
  readonly #chips = make('div', { className: 'chips card' });
  readonly #told = make('div', {});
  #listed: Listed | undefined;
  #shown = '';
  #waiting: ReturnType<typeof setTimeout> | undefined;
  #offered = '';

  constructor() {
    this.element.append(make('h1', {}, 'Compare'), this.#chips, this.#told, this.#figures.element);
  }

  list(listed: Listed): void {
    this.#listed = listed;
    this.#offer(listed);
    this.#plan();
  }

  #ids(): string[] {
    const known = new Set(this.#listed?.runs.map(({ id }) => id));
    return (here().chosen.get('runs') ?? '').split(',').filter((id) => known.has(id));
  }

  #offer({ runs }: Listed): void {
    const offered = JSON.stringify(runs.map(({ id, status }) => [id, status]));
    if (offered === this.#offered) return;
    this.#offered = offered;
    const chosen = new Set(this.#ids());
    const boxes = runs.map(({ id, name, seed, replicas, status }) => {
      const box = make('input', { type: 'checkbox', checked: chosen.has(id), value: id });
      box.addEventListener('change', () => {
        const all = [...this.#chips.querySelectorAll<HTMLInputElement>('input:checked')].map(({ value }) => value);
        choose({ runs: all.join(',') });
        this.#shown = '';
        this.#plan();
      });
      return make(
        'label',
        {},
        box,
        make(
          'span',
          { className: 'name' },
          `${name} n=${replicas} seed ${seed}${status === 'complete' ? '' : ` (${status})`}`,
        ),
      );
    });
    this.#chips.replaceChildren(...boxes);
  }

  /** Now, or as soon as drawing again is worth it. */
  #plan(): void {
    if (this.#waiting !== undefined) return;
    this.#waiting = setTimeout(
      () => {
        this.#waiting = undefined;
        this.#update().catch((error) => this.#say(String(error.message)));
      },
      this.#shown === '' ? 0 : this.#figures.rest,
    );
  }

  async #update(): Promise<void> {
    const ids = this.#ids();
    const rows = this.#listed!.runs.filter(({ id }) => ids.includes(id));
    const now = JSON.stringify(rows);
    if (now === this.#shown) return;
    if (ids.length === 0) {
      this.#figures.element.hidden = true;
      return this.#say('Choose runs above; those that differ in nothing but their seed become one curve with a band.');
    }
    const data = await read<PageData>('report', { runs: ids.join(',') });
    this.#shown = now;
    this.#figures.element.hidden = false;
    this.#figures.show(data);
    const { report } = data;
    const notes = report.notes.map((note) => make('li', {}, note));
    this.#told.replaceChildren(
      make('p', { className: 'lead' }, report.title),
      ...(notes.length === 0 ? [] : [make('aside', { className: 'notes' }, make('ul', {}, ...notes))]),
      make('div', { className: 'observations' }, ...report.observations.map(observation)),
    );
  }

  #say(text: string): void {
    this.#told.replaceChildren(make('p', { className: 'lead' }, text));
  }

  redraw(): void {
    this.#figures.redraw();
  }

  close(): void {
    clearTimeout(this.#waiting);
    this.#figures.close();
  }
}
