import { type Choices, defaults, type Figure, groupsOf, type PageData, type View } from '../../report/figure/figure.ts';
import { dark, light } from '../../report/figure/theme.ts';
import { controls, make } from '../../report/page/controls.ts';
import { choose, here } from './address.ts';
import { widthOf } from './width.ts';

export const theme = () => (document.documentElement.dataset.theme === 'dark' ? dark : light);

/** Choices of a figure in the address: `learning.axis=step`. */
const keyOf = (figure: Figure, id: string) => `${figure.id}.${id}`;

function chosen(figure: Figure, view: View): Choices {
  const offered = figure.choices(view);
  const kept = offered.flatMap(({ id, options }) => {
    const value = here().chosen.get(keyOf(figure, id));
    return options.some((option) => option.value === value) ? [[id, value!]] : [];
  });
  return { ...defaults(offered), ...Object.fromEntries(kept) };
}

/** How to read it, for those who ask. */
export const captionOf = ({ caption }: Pick<Figure, 'caption'>) =>
  make('details', { className: 'caption' }, make('summary', {}, 'How to read this'), make('figcaption', {}, caption));

/** Figures of a report that changes: those on the screen are drawn anew. */
export class Figures {
  readonly element = make('div', { className: 'figures' });
  readonly #places: { readonly figure: Figure; readonly place: HTMLElement; seen: boolean; stale: boolean }[];
  readonly #watch: IntersectionObserver;
  #view: View | undefined;

  constructor(figures: readonly Figure[]) {
    this.#watch = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const place = this.#places.find((each) => each.place === target)!;
        place.seen = isIntersecting;
        if (!isIntersecting || !place.stale || this.#view === undefined) continue;
        this.#draw(place.figure, place.place);
        place.stale = false;
      }
    });
    this.#places = figures.map((figure) => {
      const place = make(
        'figure',
        { className: `card${figure.wide ? ' wide' : ''}`, id: figure.id, hidden: true },
        make('h3', {}, figure.title),
        make('div', { className: 'controls' }),
        make('div', { className: 'drawing' }),
        captionOf(figure),
      );
      this.element.append(place);
      this.#watch.observe(place);
      return { figure, place, seen: false, stale: true };
    });
  }

  show({ report, pictures }: PageData, comparison = report.comparisons.length - 1): void {
    this.#view = { report, pictures, comparison, hidden: new Set() };
    for (const each of this.#places) {
      const applies = groupsOf(this.#view).length > 0 && each.figure.applies(this.#view);
      each.place.hidden = !applies;
      if (!applies) continue;
      if (each.seen) this.#draw(each.figure, each.place);
      each.stale = !each.seen;
    }
  }

  redraw(): void {
    if (this.#view !== undefined) this.show(this.#view, this.#view.comparison);
  }

  close(): void {
    this.#watch.disconnect();
  }

  #draw(figure: Figure, place: HTMLElement): void {
    const view = this.#view!;
    const [panel, drawing] = [
      place.querySelector<HTMLElement>('.controls')!,
      place.querySelector<HTMLElement>('.drawing')!,
    ];
    const choices = chosen(figure, view);
    controls(panel, figure.id, figure.choices(view), choices, (id, value) => {
      choose({ [keyOf(figure, id)]: value });
      this.#draw(figure, place);
    });
    const start = performance.now();
    const look = { document, width: widthOf(drawing), theme: theme(), still: false };
    const svg = figure.draw(view, choices, look);
    drawing.replaceChildren(svg as unknown as Node);
    drawing.dataset.ms = (performance.now() - start).toFixed(1);
  }
}
