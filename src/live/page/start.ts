import { make } from '../../report/page/controls.ts';
import type { QueuedJob } from '../jobs.ts';
import { choose, here } from './address.ts';
import { type Listed, read, write } from './ask.ts';
import type { Schema } from './complete.ts';
import { Editor } from './editor.ts';
import { refused } from './question.ts';
import { action } from './row.ts';

const kept = 'dbench-experiment';
const explained =
  'One experiment at a time; the others wait here. A run that is going on outlives this server, what waits does not.';

/** An experiment as text, checked as it is written; what is started, and what waits. */
export class StartView {
  readonly element = make('section', { className: 'start-view' });
  readonly #editor = new Editor(() => this.#changed());
  readonly #names = make('select', {});
  readonly #about = make('p', { className: 'hint' });
  readonly #go = make('button', { type: 'button', className: 'primary', disabled: true }, 'Start');
  readonly #jobs = make('div', { className: 'jobs' });
  #described = new Map<string, string>();
  #waiting: ReturnType<typeof setTimeout> | undefined;
  #drawn = '';
  #readOnly = false;

  constructor() {
    this.#names.addEventListener('change', () => void this.#load(this.#names.value).catch(refused));
    this.#go.addEventListener('click', () => void this.#start());
    this.#editor.text.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !this.#go.disabled) void this.#start();
    });
    this.element.append(
      make('h1', { className: 'unseen' }, 'Start'),
      make(
        'div',
        { className: 'tools' },
        make('label', { className: 'pick' }, 'Begin with', this.#names),
        this.#go,
        this.#about,
      ),
      this.#editor.element,
      make('h2', {}, 'Queue'),
      this.#jobs,
    );
    // What is written before there is something to begin with would be lost.
    this.#editor.text.readOnly = true;
    void this.#open()
      .catch(refused)
      .finally(() => (this.#editor.text.readOnly = false));
  }

  async #open(): Promise<void> {
    const [schema, experiments] = await Promise.all([
      read<Schema>('schema'),
      read<{ name: string; description: string }[]>('experiments'),
    ]);
    this.#editor.schema = schema;
    this.#described = new Map(experiments.map(({ name, description }) => [name, description]));
    this.#names.replaceChildren(
      make('option', { value: '' }, 'my own'),
      ...experiments.map(({ name, description }) => make('option', { value: name, title: description }, name)),
    );
    const { chosen } = here();
    const [name, run] = [chosen.get('experiment'), chosen.get('run')];
    const before = sessionStorage.getItem(kept);
    if (run !== null) await this.#vary(run);
    else if (name !== null) await this.#load(name);
    else if (before !== null) this.#take(before, '');
    else await this.#load('quickstart');
  }

  async #load(name: string): Promise<void> {
    if (name === '') return;
    const { yaml } = await read<{ yaml: string }>('experiment', { name });
    choose({ experiment: name, run: '' });
    this.#take(yaml, name);
  }

  /** The settings of a run that is there, to change some of them. */
  async #vary(run: string): Promise<void> {
    const { yaml } = await read<{ yaml: string }>('recipe', { run });
    this.#take(yaml, '');
    this.#about.textContent = `The settings of ${run}: change some and start.`;
  }

  #take(text: string, name: string): void {
    this.#editor.value = text;
    this.#names.value = name;
    this.#about.textContent = this.#described.get(name) ?? '';
    this.#soon();
  }

  /** By the reader: it is not what it was loaded as any more. */
  #changed(): void {
    if (this.#names.value !== '' || here().chosen.has('run')) {
      choose({ experiment: '', run: '' });
      this.#names.value = '';
      this.#about.textContent = '';
    }
    this.#soon();
  }

  #soon(): void {
    sessionStorage.setItem(kept, this.#editor.value);
    this.#go.disabled = true;
    clearTimeout(this.#waiting);
    this.#waiting = setTimeout(() => void this.#check(), 300);
  }

  async #check(): Promise<void> {
    if (this.#readOnly) return this.#editor.say('', true);
    const text = this.#editor.value;
    try {
      const { title, runs } = await write<{ title: string; runs: number }>('check', { yaml: text });
      if (text !== this.#editor.value) return;
      this.#editor.say(`Valid: ${runs === 1 ? 'one run' : `${runs} runs`}, ${title}`, true);
      this.#go.disabled = this.#readOnly;
    } catch (error) {
      if (text === this.#editor.value) this.#editor.say((error as Error).message, false);
    }
  }

  async #start(): Promise<void> {
    this.#go.disabled = true;
    await write('start', { yaml: this.#editor.value }).catch(refused);
    this.#go.disabled = this.#readOnly;
    this.#jobs.scrollIntoView({ block: 'nearest' });
  }

  list({ jobs, readOnly }: Listed) {
    this.#readOnly = readOnly;
    if (readOnly) {
      this.#about.textContent = 'This server only shows (--read-only).';
      this.#go.disabled = true;
      this.#editor.say('', true);
    }
    const text = JSON.stringify(jobs);
    if (text === this.#drawn) return;
    this.#drawn = text;
    this.#jobs.replaceChildren(
      make(
        'p',
        { className: 'hint' },
        jobs.length === 0 ? `Nothing was started from here yet. ${explained}` : explained,
      ),
      ...jobs.toReversed().map(jobCard),
    );
  }

  close(): void {
    clearTimeout(this.#waiting);
  }
}

function jobCard({ id, title, state, stopping, output }: QueuedJob): HTMLElement {
  const open = state === 'waiting' || state === 'running';
  const cancel = action(stopping ? 'Stopping…' : state === 'running' ? 'Stop' : 'Cancel', () =>
    write('cancel', { job: id }),
  );
  cancel.disabled = stopping;
  return make(
    'article',
    { className: 'card job' },
    make(
      'div',
      { className: 'tools' },
      make('span', { className: `badge ${state}` }, state),
      make('strong', {}, title),
      ...(state === 'running' ? [make('a', { href: '#/runs?filter=running' }, 'Watch')] : []),
      ...(open ? [cancel] : []),
    ),
    ...(output === '' ? [] : [make('pre', {}, output)]),
  );
}
