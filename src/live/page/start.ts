import { make } from '../../report/page/controls.ts';
import { choose, here } from './address.ts';
import { type Listed, read, write } from './ask.ts';
import { caretPath, type Schema, suggestions } from './complete.ts';
import { refused } from './question.ts';

const kept = 'dbench-experiment';

/** An experiment as text, checked as it is written; what is started, and what waits. */
export class StartView {
  readonly element = make('section', {});
  readonly #text = make('textarea', { spellcheck: false, rows: 26 });
  readonly #names = make('select', {});
  readonly #say = make('pre', { className: 'check' });
  readonly #offer = make('ul', { className: 'offer' });
  readonly #go = make('button', { type: 'button', className: 'primary', disabled: true }, 'Start');
  readonly #jobs = make('div', {});
  #schema: Schema | undefined;
  #waiting: ReturnType<typeof setTimeout> | undefined;
  #drawn = '';
  #readOnly = false;

  constructor() {
    this.#text.setAttribute('aria-label', 'Experiment in YAML');
    this.#names.setAttribute('aria-label', 'Begin with an experiment that comes with DBench');
    this.#text.addEventListener('input', () => this.#changed());
    this.#text.addEventListener('keydown', (event) => {
      // Ctrl+Space, as in editors; Tab stays what moves on.
      if (event.key === ' ' && event.ctrlKey) {
        event.preventDefault();
        this.#suggest();
        this.#offer.querySelector('button')?.focus();
      }
    });
    for (const event of ['click', 'keyup'] as const) this.#text.addEventListener(event, () => this.#suggest());
    this.#names.addEventListener('change', () => void this.#load(this.#names.value).catch(refused));
    this.#go.addEventListener('click', () => void this.#start());
    this.element.append(
      make('h1', {}, 'Start'),
      make('div', { className: 'tools' }, make('label', { className: 'pick' }, 'Begin with ', this.#names), this.#go),
      make(
        'div',
        { className: 'both' },
        make('div', { className: 'editor' }, this.#text, this.#say),
        make('div', { className: 'side' }, make('h4', {}, 'What can stand here'), this.#offer),
      ),
      make('h2', {}, 'Queue'),
      this.#jobs,
    );
    void this.#open().catch(refused);
  }

  async #open(): Promise<void> {
    const [schema, experiments] = await Promise.all([
      read<Schema>('schema'),
      read<{ name: string; description: string }[]>('experiments'),
    ]);
    this.#schema = schema;
    this.#names.replaceChildren(
      make('option', { value: '' }, 'an experiment…'),
      ...experiments.map(({ name, description }) => make('option', { value: name, title: description }, name)),
    );
    const name = here().chosen.get('experiment');
    const before = sessionStorage.getItem(kept);
    if (name !== null) await this.#load(name);
    else if (before !== null) {
      this.#text.value = before;
      this.#changed();
    } else await this.#load('quickstart');
  }

  async #load(name: string): Promise<void> {
    if (name === '') return;
    const { yaml } = await read<{ yaml: string }>('experiment', { name });
    this.#names.value = name;
    this.#text.value = yaml;
    choose({ experiment: name });
    this.#changed(false);
  }

  #changed(edited = true): void {
    if (edited) choose({ experiment: '' });
    sessionStorage.setItem(kept, this.#text.value);
    this.#go.disabled = true;
    this.#suggest();
    clearTimeout(this.#waiting);
    this.#waiting = setTimeout(() => void this.#check(), 400);
  }

  async #check(): Promise<void> {
    const text = this.#text.value;
    try {
      const { title, runs } = await write<{ title: string; runs: number }>('check', { yaml: text });
      if (text !== this.#text.value) return;
      this.#say.className = 'check good';
      this.#say.textContent = `Valid: ${runs} run${runs === 1 ? '' : 's'}: ${title}`;
      this.#go.disabled = this.#readOnly;
    } catch (error) {
      if (text !== this.#text.value) return;
      this.#say.className = 'check bad';
      this.#say.textContent = (error as Error).message;
    }
  }

  #suggest(): void {
    if (this.#schema === undefined) return;
    const { selectionStart, value } = this.#text;
    const at = caretPath(value, selectionStart);
    const found = suggestions(this.#schema, at).slice(0, 40);
    const text = JSON.stringify([found, at]);
    if (this.#offer.dataset.shown === text) return;
    this.#offer.dataset.shown = text;
    this.#offer.replaceChildren(
      ...found.map(({ insert, label, description }) => {
        const button = make('button', { type: 'button', className: 'sort' }, label);
        button.addEventListener('click', () => this.#insert(at.from, insert));
        return make('li', {}, button, ...(description === undefined ? [] : [make('small', {}, description)]));
      }),
    );
  }

  /** In the place of the word that was begun. */
  #insert(from: number, text: string): void {
    this.#text.focus();
    this.#text.setRangeText(text, from, this.#text.selectionStart, 'end');
    this.#changed();
  }

  async #start(): Promise<void> {
    this.#go.disabled = true;
    await write('start', { yaml: this.#text.value }).catch(refused);
    this.#go.disabled = false;
  }

  list({ jobs, readOnly }: Listed) {
    this.#readOnly = readOnly;
    const text = JSON.stringify(jobs);
    if (text === this.#drawn) return;
    this.#drawn = text;
    if (jobs.length === 0)
      return this.#jobs.replaceChildren(
        make(
          'p',
          { className: 'hint' },
          'Nothing was started from here. Runs are started one at a time; those that are running go on if the server ends, those that wait do not.',
        ),
      );
    this.#jobs.replaceChildren(
      ...jobs.toReversed().map(({ id, title, state, output }) => {
        const cancel = make('button', { type: 'button' }, state === 'running' ? 'Stop' : 'Cancel');
        cancel.addEventListener('click', () => void write('cancel', { job: id }).catch(refused));
        const open = state === 'waiting' || state === 'running';
        return make(
          'article',
          { className: 'card job' },
          make(
            'div',
            { className: 'tools' },
            make('strong', {}, title),
            make('span', { className: `badge ${state}` }, state),
            ...(open ? [cancel] : []),
          ),
          ...(output === '' ? [] : [make('pre', {}, output)]),
        );
      }),
    );
  }

  close(): void {
    clearTimeout(this.#waiting);
  }
}
