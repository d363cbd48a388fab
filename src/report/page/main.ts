import type { SvgElement } from '../figure/compose.ts';
import { type Choices, defaults, type Figure, groupsOf, type PageData, type View } from '../figure/figure.ts';
import { figures } from '../figure/figures.ts';
import { stillWidth } from '../figure/standalone.ts';
import { dark, light } from '../figure/theme.ts';
import { controls } from './controls.ts';
import { save } from './save.ts';
import { followWidth } from './width.ts';

const one = <T extends Element>(selector: string, within: ParentNode = document) => within.querySelector<T>(selector)!;

const data: PageData = JSON.parse(one('#data').textContent!);

/** All that the reader has chosen. */
const state = {
  comparison: data.report.comparisons.length - 1,
  hidden: new Set<string>(),
  printing: false,
  choices: new Map<string, Choices>(),
};

const view = (): View => ({ ...data, comparison: state.comparison, hidden: state.hidden });
const theme = () => (document.documentElement.dataset.theme === 'dark' && !state.printing ? dark : light);
/** Of paper, which has no window to ask. */
const paperWidth = 660;

function draw(figure: Figure, place: HTMLElement): void {
  const [drawing, panel] = [one<HTMLElement>('.drawing', place), one<HTMLElement>('.controls', place)];
  const shown = view();
  const applies = groupsOf(shown).length > 0 && figure.applies(shown);
  for (const button of place.querySelectorAll<HTMLButtonElement>('.save button')) button.disabled = !applies;
  if (!applies) {
    panel.replaceChildren();
    const empty = document.createElement('p');
    empty.className = 'empty';
    empty.textContent = 'Nothing to show for what is chosen above.';
    drawing.replaceChildren(empty);
    return;
  }
  const offered = figure.choices(shown);
  const choices = chosen(figure, shown);
  controls(panel, figure.id, offered, choices, (id, value) => {
    state.choices.set(figure.id, { ...chosen(figure, view()), [id]: value });
    draw(figure, place);
  });
  const width = state.printing ? paperWidth : Math.max(280, Math.floor(drawing.clientWidth));
  drawing.replaceChildren(
    figure.draw(shown, choices, { document, width, theme: theme(), still: false }) as unknown as Node,
  );
}

/** What was chosen, as far as it is still on offer. */
function chosen(figure: Figure, shown: View): Choices {
  const offered = figure.choices(shown);
  const before = state.choices.get(figure.id) ?? {};
  const kept = offered.filter(({ id, options }) => options.some(({ value }) => value === before[id]));
  return { ...defaults(offered), ...Object.fromEntries(kept.map(({ id }) => [id, before[id]!])) };
}

const places = [...document.querySelectorAll<HTMLElement>('[data-figure]')].map((place) => ({
  place,
  figure: figures.find(({ id }) => id === place.dataset.figure)!,
}));

const drawAll = () => {
  for (const { figure, place } of places) draw(figure, place);
};

function chooseComparison(): void {
  one('#comparison')?.addEventListener('change', (event) => {
    state.comparison = Number((event.target as HTMLInputElement).value);
    showComparison();
    drawAll();
  });
  showComparison();
}

function showComparison(): void {
  for (const part of document.querySelectorAll<HTMLElement>('[data-comparison]'))
    part.hidden = Number(part.dataset.comparison) !== state.comparison;
}

function chooseImplementations(): void {
  one('#shown').addEventListener('change', () => {
    const boxes = [...document.querySelectorAll<HTMLInputElement>('#shown input')];
    state.hidden = new Set(boxes.filter(({ checked }) => !checked).map(({ value }) => value));
    drawAll();
  });
}

function chooseTheme(): void {
  const button = one<HTMLButtonElement>('#theme');
  const apply = (name: 'light' | 'dark') => {
    document.documentElement.dataset.theme = name;
    button.textContent = name === 'dark' ? 'Light' : 'Dark';
    button.setAttribute('aria-label', `Switch to the ${name === 'dark' ? 'light' : 'dark'} theme`);
  };
  const system = matchMedia('(prefers-color-scheme: dark)');
  const follow = () => {
    apply(system.matches ? 'dark' : 'light');
    drawAll();
  };
  system.addEventListener('change', follow);
  button.addEventListener('click', () => {
    apply(theme().name === 'dark' ? 'light' : 'dark');
    drawAll();
  });
  apply(system.matches ? 'dark' : 'light');
}

function copyButtons(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-copy]'))
    button.addEventListener('click', () => {
      const text = one('pre', button.parentElement!).textContent!;
      const done = () => {
        button.textContent = 'Copied';
        setTimeout(() => (button.textContent = 'Copy'), 1500);
      };
      // If the clipboard is refused, as for some pages from disk, the text is at least selected.
      const select = () => getSelection()?.selectAllChildren(one('pre', button.parentElement!));
      navigator.clipboard === undefined ? select() : navigator.clipboard.writeText(text).then(done, select);
    });
}

function saveButtons(): void {
  for (const { figure, place } of places)
    place.addEventListener('click', (event) => {
      const kind = (event.target as HTMLElement).dataset.save;
      if (kind !== 'svg' && kind !== 'png') return;
      const shown = view();
      const frame = { document, width: stillWidth, theme: light, still: true };
      const svg: SvgElement = figure.draw(shown, chosen(figure, shown), frame);
      void save(svg, figure, data.report.comparisons[state.comparison]!.label, kind);
    });
}

function forPaper(): void {
  const print = (printing: boolean) => () => {
    state.printing = printing;
    document.documentElement.dataset.theme = printing
      ? 'light'
      : one('#theme').textContent === 'Light'
        ? 'dark'
        : 'light';
    drawAll();
  };
  addEventListener('beforeprint', print(true));
  addEventListener('afterprint', print(false));
}

chooseComparison();
chooseImplementations();
chooseTheme();
copyButtons();
saveButtons();
followWidth(drawAll);
forPaper();
drawAll();
