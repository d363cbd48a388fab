import { number } from '../../base/format.ts';
import { seconds, short } from '../../report/figure/axis.ts';
import { make } from '../../report/page/controls.ts';
import type { RunRow } from '../catalogue.ts';
import { write } from './ask.ts';
import { confirmed, refused } from './question.ts';

/** How a run is told in a few words and marks, wherever it stands. */

const svgSpace = 'http://www.w3.org/2000/svg';

/** Small curves on one scale; several are drawn faintly, one over the other. */
export function sparkline(curves: readonly (readonly number[])[], [width, height] = [96, 22]): Node {
  const drawn = curves.filter(({ length }) => length > 1);
  if (drawn.length === 0) return document.createTextNode('');
  const all = drawn.flat();
  const [low, high] = [Math.min(...all), Math.max(...all)];
  // What differs by rounding alone is flat.
  const range = high - low > 1e-6 * Math.abs(high) ? high - low : Number.POSITIVE_INFINITY;
  const at = (value: number, i: number, of: number) =>
    `${((i / (of - 1)) * (width - 4) + 2).toFixed(1)},${(height - 3 - ((value - low) / range) * (height - 6)).toFixed(1)}`;
  const svg = document.createElementNS(svgSpace, 'svg');
  for (const [key, value] of Object.entries({ width, height, 'aria-hidden': 'true', class: 'spark' }))
    svg.setAttribute(key, String(value));
  for (const values of drawn) {
    const line = document.createElementNS(svgSpace, 'polyline');
    line.setAttribute('points', values.map((value, i) => at(value, i, values.length)).join(' '));
    if (drawn.length > 1) line.setAttribute('opacity', '.75');
    svg.append(line);
  }
  return svg;
}

export const shareDone = ({ step, steps, status }: RunRow) =>
  status === 'complete' ? 1 : steps ? Math.min(1, step / steps) : 0;

export const scoreText = ({ score, scoreName }: Pick<RunRow, 'score' | 'scoreName'>) =>
  score === null ? '–' : scoreName === 'accuracy' ? `${(100 * score).toFixed(2)} %` : short(score);

export const timeText = ({ left, seconds: took }: RunRow) =>
  left !== null ? `${about(left)} left` : took !== null ? seconds(took) : '';

/** No more digits than an estimate has. */
export function about(time: number): string {
  if (time < 90) return `${time < 10 ? Math.ceil(time) : 5 * Math.round(time / 5)} s`;
  return time < 5400 ? `${Math.round(time / 60)} min` : `${number(time / 3600, 2)} h`;
}

/** A time of today as a time, another one as a date. */
export function whenText(at: string): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return date.toDateString() === new Date().toDateString() ? `${two(date.getHours())}:${two(date.getMinutes())}` : day;
}

export function badge({ status, stopping }: Pick<RunRow, 'status' | 'stopping'>): HTMLElement {
  return make('span', { className: `badge ${status}` }, stopping ? 'stopping' : status);
}

export function meter(share: number, status: string, title: string): HTMLElement {
  const inner = make('span', {});
  inner.style.width = `${(100 * share).toFixed(1)}%`;
  const outer = make('span', { className: `meter ${status}`, title }, inner);
  outer.setAttribute('role', 'progressbar');
  outer.setAttribute('aria-valuenow', (100 * share).toFixed(0));
  outer.setAttribute('aria-label', title);
  return outer;
}

export const bar = (row: RunRow): HTMLElement =>
  meter(
    shareDone(row),
    row.status,
    `${number(row.step)}${row.steps === null ? '' : ` of ${number(row.steps)}`} steps done`,
  );

export const canStop = ({ status, stopping }: RunRow) => status === 'running' && !stopping;
export const canResume = ({ status }: RunRow) => status === 'stopped' || status === 'interrupted';
export const canDelete = ({ status }: RunRow) => status !== 'running';

export const stopAll = (rows: readonly RunRow[]) => each('stop', rows.filter(canStop));
export const resumeAll = (rows: readonly RunRow[]) => each('resume', rows.filter(canResume));

async function each(what: string, rows: readonly RunRow[]): Promise<void> {
  for (const { id } of rows) await write(what, { run: id });
}

/** After a question; tells whether it was done. */
export async function deleteAll(all: readonly RunRow[]): Promise<boolean> {
  const rows = all.filter(canDelete);
  const named = rows.slice(0, 12).map(({ id }) => id);
  const more = rows.length > named.length ? `\nand ${number(rows.length - named.length)} more` : '';
  const sure = await confirmed(
    rows.length === 1 ? `Delete ${rows[0]!.id}?` : `Delete ${number(rows.length)} runs?`,
    rows.length === 1
      ? 'Its results, events and checkpoints are gone for good.'
      : 'Their results, events and checkpoints are gone for good:',
    'Delete',
    rows.length === 1 ? '' : `${named.join('\n')}${more}`,
  );
  if (sure) await each('delete', rows);
  return sure;
}

/** A button that cannot be pressed again before what it does is done. */
export function action(label: string, act: () => Promise<unknown>, look: Partial<HTMLButtonElement> = {}) {
  const made = make('button', { type: 'button', ...look }, label);
  made.addEventListener('click', () => {
    made.disabled = true;
    act()
      .catch(refused)
      .finally(() => (made.disabled = false));
  });
  return made;
}

/** Stop or resume, whichever makes sense. */
export function steer(row: RunRow, readOnly: boolean): HTMLElement[] {
  if (readOnly) return [];
  if (row.status === 'running')
    return [
      row.stopping
        ? make('button', { type: 'button', disabled: true }, 'Stopping…')
        : action('Stop', () => stopAll([row])),
    ];
  return canResume(row) ? [action('Resume', () => resumeAll([row]))] : [];
}
