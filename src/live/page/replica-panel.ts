import { extremeOf, type quantityOf } from '../../report/figure/network.ts';
import { drawCourse, drawShares } from '../../report/figure/replica.ts';
import { make } from '../../report/page/controls.ts';
import type { NetworkRound, ReplicaFrame } from '../../report/report.ts';
import { read } from './ask.ts';
import { theme } from './figures.ts';
import { allOf, type DealtShares, type Placing, reasons } from './reasons.ts';
import { renew } from './renew.ts';
import { widthOf } from './width.ts';

const nothing: DealtShares = { counts: null, totals: null };
/** More of those it hears are only counted. */
const mostNamed = 24;

/** What is looked at: a replica at a step. */
export interface Looked {
  readonly replica: number;
  /** Chosen by the reader, rather than the one that is furthest behind. */
  readonly picked: boolean;
  readonly frame: ReplicaFrame;
  readonly round: NetworkRound;
  readonly frames: readonly ReplicaFrame[];
  readonly quantity: ReturnType<typeof quantityOf>;
}

function tableOf(standings: readonly Placing[], replica: number): HTMLElement {
  const head = ['', `replica ${replica}`, 'mean of all', 'place'].map((text) => make('th', { scope: 'col' }, text));
  const rows = standings.map(({ name, own, mean, place, bad }) =>
    make(
      'tr',
      {},
      make('th', { scope: 'row' }, name),
      make('td', { className: bad ? 'worse' : '' }, own),
      make('td', {}, mean),
      make('td', {}, place),
    ),
  );
  return make('table', {}, make('thead', {}, make('tr', {}, ...head)), make('tbody', {}, ...rows));
}

const alike = (values: readonly (number | null)[]) => new Set(values).size < 2;

/** One replica: what may be why it is where it is, how it stands beside the others, over time, and what it learns from. */
export class ReplicaPanel {
  readonly element = make('div', { className: 'side' });
  readonly #id: string;
  readonly #select: (replica: number) => void;
  readonly #title = make('h4', {});
  readonly #why = make('ul', { className: 'why' });
  readonly #table = make('div', {});
  readonly #course = make('div', { className: 'drawing small' });
  readonly #shares = make('div', { className: 'drawing small', hidden: true });
  readonly #sharesTitle = make('h5', { hidden: true }, 'What it learns from; the lines are what all have');
  readonly #hears = make('p', { className: 'hears' });
  #dealt: DealtShares | undefined;
  #asked = false;
  #looked: Looked | undefined;

  constructor(id: string, select: (replica: number) => void) {
    this.#id = id;
    this.#select = select;
    this.element.append(
      this.#title,
      this.#why,
      this.#table,
      this.#hears,
      this.#course,
      this.#sharesTitle,
      this.#shares,
    );
  }

  show(looked: Looked): void {
    this.#looked = looked;
    if (!this.#asked) {
      this.#asked = true;
      void read<DealtShares>('shares', { run: this.#id })
        .catch(() => nothing)
        .then((dealt) => {
          this.#dealt = dealt;
          if (this.#looked !== undefined) this.show(this.#looked);
        });
    }
    const { replica, picked, frame, round, frames, quantity } = looked;
    const { table, why, neighbours, sampled, behind, own } = reasons(
      frames,
      frame,
      round,
      replica,
      this.#dealt ?? nothing,
    );
    const asks = behind ? ': why is it behind?' : '';
    const title = picked
      ? `Replica ${replica}${asks}`
      : quantity.scores || alike(quantity.of(frame) ?? [])
        ? `Replica ${replica} ${behind ? 'is furthest behind. Why?' : 'beside the others'}`
        : `Replica ${replica} has the ${extremeOf(quantity)}${asks}`;
    renew(this.#title, title, () => [title]);
    const reading = this.#dealt === undefined;
    renew(this.#why, JSON.stringify([why, reading]), () => [
      ...why.map((line) => make('li', {}, line)),
      ...(reading ? [make('li', { className: 'muted' }, 'Looking at its data…')] : []),
    ]);
    renew(this.#table, JSON.stringify([table, replica]), () => [tableOf(table, replica)]);
    renew(this.#hears, `${neighbours} ${sampled}`, () => this.#told(neighbours, sampled));
    const known = own !== undefined && own.length > 1;
    if (this.#shares.hidden === known) this.#shares.hidden = this.#sharesTitle.hidden = !known;
    const look = { document, width: widthOf(this.#course, 240), theme: theme(), still: false };
    const at = `${replica} ${look.theme.name} ${look.width}`;
    renew(this.#course, `${at} ${frames.length} ${frame.step} ${quantity.label}`, () => [
      drawCourse(frames, quantity, replica, frame.step, look) as unknown as Node,
    ]);
    if (known) renew(this.#shares, at, () => [drawShares(own, allOf(this.#dealt!.counts!), look) as unknown as Node]);
  }

  /** Whom it hears. */
  #told(neighbours: readonly number[], sampled: boolean): (Node | string)[] {
    const links = neighbours.slice(0, mostNamed).map((i) => {
      const button = make('button', { type: 'button', className: 'link' }, String(i));
      button.setAttribute('aria-label', `Look at replica ${i}`);
      button.addEventListener('click', () => this.#select(i));
      return button;
    });
    const more = neighbours.length > mostNamed ? [` and ${neighbours.length - mostNamed} more`] : [];
    const some = sampled ? 'Hears in this round, as far as it is drawn: ' : 'Hears in this round: ';
    const none = sampled ? 'None of its connections is drawn.' : 'It hears nobody in this round.';
    return [neighbours.length === 0 ? none : some, ...links, ...more];
  }
}
