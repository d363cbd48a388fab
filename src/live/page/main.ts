import { make } from '../../report/page/controls.ts';
import { followWidth } from '../../report/page/width.ts';
import type { LiveLine } from '../../store/live.ts';
import type { ListChange } from '../stream.ts';
import { addressOf, here } from './address.ts';
import { type Listed, Refused, read } from './ask.ts';
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

const unreachable = 'No connection to dbench serve; trying again…';

/** One stream for this tab, closed while nobody sees it. */
function connect(): void {
  stream?.close();
  stream = undefined;
  if (document.hidden) return;
  const { view: name, id } = here();
  const query = name === 'run' ? `?${new URLSearchParams({ run: id, from: String(next) })}` : '';
  const opened = new EventSource(`/api/stream${query}`);
  stream = opened;
  /** The first list of a stream is whole, those that follow tell what changed. */
  let whole = true;
  opened.onopen = () => {
    whole = true;
    say('');
  };
  opened.onerror = () => {
    if (stream !== opened) return;
    // A browser gives up if it is refused, as without the token or while a server starts: then the server is asked why.
    if (opened.readyState !== EventSource.CLOSED) return say(unreachable);
    read<Listed>('list')
      .then(
        () => say(unreachable),
        (error) => say(error instanceof Refused ? error.message : unreachable),
      )
      .finally(() => setTimeout(() => stream === opened && connect(), 1500));
  };
  opened.addEventListener('list', ({ data }) => {
    listed = merged(whole ? undefined : listed, JSON.parse(data) as ListChange);
    whole = false;
    view?.list(listed);
    showState(listed);
  });
  opened.addEventListener('lines', ({ data, lastEventId }) => {
    next = Number(lastEventId);
    view?.lines?.(JSON.parse(data) as LiveLine[]);
  });
  for (const event of ['ended', 'anew']) opened.addEventListener(event, () => (next = 0));
}

function merged(before: Listed | undefined, { gone, runs, ...rest }: ListChange): Listed {
  const rows = new Map((before?.runs ?? []).map((row) => [row.id, row]));
  for (const row of runs) rows.set(row.id, row);
  for (const id of gone) rows.delete(id);
  return { ...rest, runs: [...rows.values()].sort((a, b) => b.startedAt.localeCompare(a.startedAt)) };
}

/** What is going on, wherever one looks. */
function showState({ runs, jobs }: Listed): void {
  const running = runs.filter(({ status }) => status === 'running').length;
  const waiting = jobs.filter(({ state }) => state === 'waiting').length;
  const text = [running > 0 ? `${running} running` : '', waiting > 0 ? `${waiting} waiting` : '']
    .filter(Boolean)
    .join(', ');
  const place = one('#now');
  if (place.textContent !== text) place.textContent = text;
  place.classList.toggle('on', running > 0);
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
    button.setAttribute('aria-label', `Switch to the ${name === 'dark' ? 'light' : 'dark'} theme`);
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

/** `/` to the filter of the runs, g and a letter to a view: as in many pages. Not while something is written. */
function followKeys(): void {
  let before = '';
  addEventListener('keydown', (event) => {
    const { key, target, ctrlKey, metaKey, altKey } = event;
    if (
      ctrlKey ||
      metaKey ||
      altKey ||
      (target as Element).matches('input:not([type=checkbox],[type=radio]),textarea,select')
    )
      return;
    const to = before === 'g' ? { r: 'runs', c: 'compare', s: 'start' }[key] : undefined;
    before = key;
    if (to !== undefined) location.hash = addressOf(to);
    else if (key === '/' && view instanceof RunsView) {
      event.preventDefault();
      view.focusFilter();
    }
  });
}

followWidth(() => view?.redraw?.());
addEventListener('hashchange', show);
document.addEventListener('visibilitychange', connect);
chooseTheme();
followKeys();
show();
