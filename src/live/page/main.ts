import { make } from '../../report/page/controls.ts';
import { followWidth } from '../../report/page/width.ts';
import type { LiveLine } from '../../store/live.ts';
import { addressOf, here } from './address.ts';
import type { Listed } from './ask.ts';
import { CompareView } from './compare.ts';
import { RunView } from './run.ts';
import { RunsView } from './runs.ts';
import { StartView } from './start.ts';

interface LiveView {
  readonly element: HTMLElement;
  list(listed: Listed): void;
  lines?(lines: readonly LiveLine[]): void;
  redraw?(): void;
  close?(): void;
}

const one = <T extends Element>(selector: string) => document.querySelector<T>(selector)!;
const views: Readonly<Record<string, (id: string) => LiveView>> = {
  runs: () => new RunsView(),
  run: (id) => new RunView(id),
  compare: () => new CompareView(),
  start: () => new StartView(),
};
const titles = { runs: 'Runs', compare: 'Compare', start: 'Start' };

let view: LiveView | undefined;
let shown = '';
let listed: Listed | undefined;
let stream: EventSource | undefined;
/** Where the lines of the run continue. */
let next = 0;

function show(): void {
  const { view: name, id } = here();
  const key = `${name} ${id}`;
  one('.top nav').replaceChildren(
    ...Object.entries(titles).map(([each, title]) => {
      const link = make('a', { href: addressOf(each) }, title);
      if (each === name || (each === 'runs' && name === 'run')) link.setAttribute('aria-current', 'page');
      return link;
    }),
  );
  if (key === shown) return;
  shown = key;
  view?.close?.();
  view = (views[name] ?? views.runs!)(id);
  document.title = `${name === 'run' ? id : (titles[name as keyof typeof titles] ?? 'Runs')} · DBench`;
  one('#view').replaceChildren(view.element);
  if (listed !== undefined) view.list(listed);
  next = 0;
  connect();
  scrollTo(0, 0);
}

/** One stream for this tab, closed while nobody sees it. */
function connect(): void {
  stream?.close();
  stream = undefined;
  if (document.hidden) return;
  const { view: name, id } = here();
  const query = name === 'run' ? `?${new URLSearchParams({ run: id, from: String(next) })}` : '';
  const opened = new EventSource(`/api/stream${query}`);
  stream = opened;
  opened.onopen = () => say('');
  opened.onerror = () => {
    say('No connection to dbench serve; trying again…');
    // A browser gives up if it is refused, as while a server starts.
    if (opened.readyState === EventSource.CLOSED) setTimeout(() => stream === opened && connect(), 1500);
  };
  opened.addEventListener('list', ({ data }) => {
    listed = JSON.parse(data) as Listed;
    view?.list(listed);
  });
  opened.addEventListener('lines', ({ data, lastEventId }) => {
    next = Number(lastEventId);
    view?.lines?.(JSON.parse(data) as LiveLine[]);
  });
  for (const event of ['ended', 'anew']) opened.addEventListener(event, () => (next = 0));
}

function say(text: string): void {
  const place = one('#link');
  if (place.textContent !== text) place.textContent = text;
}

function chooseTheme(): void {
  const button = one<HTMLButtonElement>('#theme');
  const system = matchMedia('(prefers-color-scheme: dark)');
  const apply = (name: string) => {
    document.documentElement.dataset.theme = name;
    button.textContent = name === 'dark' ? 'Light' : 'Dark';
    view?.redraw?.();
  };
  const current = () => localStorage.getItem('theme') ?? (system.matches ? 'dark' : 'light');
  system.addEventListener('change', () => apply(current()));
  button.addEventListener('click', () => {
    localStorage.setItem('theme', current() === 'dark' ? 'light' : 'dark');
    apply(current());
  });
  apply(current());
}

followWidth(() => view?.redraw?.());
addEventListener('hashchange', show);
document.addEventListener('visibilitychange', connect);
chooseTheme();
show();
