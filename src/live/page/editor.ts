import { make } from '../../report/page/controls.ts';
import { askedFor, caretAt, lineOfProblem, type Schema, suggestions } from './complete.ts';

/** More would be no list to choose from. */
const mostOffered = 60;

/** An experiment as text; beside it what can stand at the caret, below it what is wrong. */
export class Editor {
  readonly text = make('textarea', { spellcheck: false });
  readonly element: HTMLElement;
  readonly #where = make('h4', {}, 'What can stand here');
  readonly #asked = make('p', { className: 'hint' });
  readonly #offer = make('ul', { className: 'offer' });
  readonly #said = make('div', { className: 'check' });
  readonly #changed: () => void;
  #schema: Schema | undefined;

  constructor(changed: () => void) {
    this.#changed = changed;
    this.text.setAttribute('aria-label', 'Experiment in YAML');
    this.text.addEventListener('input', () => {
      this.#suggest();
      changed();
    });
    for (const event of ['click', 'keyup'] as const) this.text.addEventListener(event, () => this.#suggest());
    this.text.addEventListener('keydown', (event) => this.#key(event));
    this.#offer.addEventListener('keydown', (event) => this.#keyInList(event));
    this.#said.setAttribute('role', 'status');
    this.element = make(
      'div',
      { className: 'both' },
      make('div', { className: 'editor' }, this.text, this.#said),
      make(
        'div',
        { className: 'side card' },
        this.#where,
        this.#asked,
        this.#offer,
        make(
          'p',
          { className: 'hint' },
          make('kbd', {}, 'Ctrl'),
          ' ',
          make('kbd', {}, 'Space'),
          ' goes to this list, ',
          make('kbd', {}, '↑'),
          ' ',
          make('kbd', {}, '↓'),
          ' through it, ',
          make('kbd', {}, 'Esc'),
          ' back.',
        ),
      ),
    );
  }

  set schema(schema: Schema) {
    this.#schema = schema;
    this.#suggest();
  }

  get value(): string {
    return this.text.value;
  }

  set value(text: string) {
    this.text.value = text;
    this.#suggest();
  }

  /** What was found when it was checked. */
  say(text: string, good: boolean): void {
    this.#said.className = `check ${good ? 'good' : 'bad'}`;
    this.#said.replaceChildren(
      ...text.split('\n').map((line) => {
        const at = good ? undefined : lineOfProblem(this.value, line);
        if (at === undefined) return make('p', {}, line);
        const go = make('button', { type: 'button', className: 'link' }, `line ${at + 1}`);
        go.addEventListener('click', () => this.#goTo(at));
        return make('p', {}, go, ' ', line.replace(/^\s*- |^experiment:\d+: /, ''));
      }),
    );
  }

  #goTo(line: number): void {
    const lines = this.value.split('\n');
    const from = lines.slice(0, line).reduce((sum, each) => sum + each.length + 1, 0);
    this.text.focus();
    this.text.setSelectionRange(from, from + (lines[line]?.length ?? 0));
    this.text.scrollTop = (line - 4) * Number.parseFloat(getComputedStyle(this.text).lineHeight);
    this.#suggest();
  }

  #key(event: KeyboardEvent): void {
    // Tab stays what moves on.
    if (event.key === ' ' && event.ctrlKey) {
      event.preventDefault();
      this.#suggest();
      this.#offer.querySelector('button')?.focus();
    } else if (event.key === 'Enter' && !event.ctrlKey && !event.metaKey) {
      // The next line begins where this one does, or deeper after a key without a value.
      const { value, selectionStart: at, selectionEnd: end } = this.text;
      const line = value.slice(value.lastIndexOf('\n', at - 1) + 1, at);
      const [indent] = /^\s*/.exec(line)!;
      const deeper = /^\s*- \S/.test(line) || /:\s*$/.test(line) ? '  ' : '';
      if (indent + deeper === '') return;
      event.preventDefault();
      this.text.setRangeText(`\n${indent}${deeper}`, at, end, 'end');
      this.#suggest();
      this.#changed();
    }
  }

  #keyInList(event: KeyboardEvent): void {
    const buttons = [...this.#offer.querySelectorAll('button')];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (event.key === 'Escape' || to === -1) this.text.focus();
    else if (to !== undefined) buttons[Math.min(to, buttons.length - 1)]?.focus();
    else return;
    event.preventDefault();
  }

  #suggest(): void {
    if (this.#schema === undefined) return;
    const caret = caretAt(this.value, this.text.selectionStart);
    const found = suggestions(this.#schema, caret).slice(0, mostOffered);
    const asked = found.length === 0 ? askedFor(this.#schema, caret) : '';
    const text = JSON.stringify([found, caret.path, caret.from, asked]);
    if (this.#offer.dataset.shown === text) return;
    this.#offer.dataset.shown = text;
    const path = caret.path.join('.').replaceAll('.[', '[');
    this.#where.textContent = path === '' ? 'What can stand here' : caret.value ? `${path} can be` : `In ${path}`;
    this.#asked.textContent = asked;
    this.#offer.replaceChildren(
      ...found.map(({ insert, back, label, description }) => {
        const button = make('button', { type: 'button', className: 'link' }, label);
        button.addEventListener('click', () => this.#insert(caret.from, insert, back));
        return make('li', {}, button, ...(description ? [make('small', {}, description)] : []));
      }),
    );
  }

  /** In the place of the word that was begun. */
  #insert(from: number, text: string, back: number): void {
    this.text.focus();
    this.text.setRangeText(text, from, this.text.selectionStart, 'end');
    const at = this.text.selectionStart - back;
    this.text.setSelectionRange(at, at);
    this.#suggest();
    this.#changed();
  }
}
