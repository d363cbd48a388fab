import { bytes, number } from '../../base/format.ts';
import { seconds, short, tick } from '../../report/figure/axis.ts';
import { make } from '../../report/page/controls.ts';
import type { RunReport } from '../../report/report.ts';
import { sparkline } from './row.ts';

type Column = readonly (number | null)[];

interface Tile {
  readonly name: string;
  readonly value: string;
  readonly remark: string;
  /** Over the run. */
  readonly course: readonly number[];
}

const last = (column: Column) => column.findLast((value) => value !== null) ?? null;
const percent = (value: number) => `${(100 * value).toFixed(2)} %`;

/** A small curve has no more points than this. */
const mostPoints = 60;
function courseOf(column: Column): number[] {
  const there = column.filter((value) => value !== null);
  const every = Math.ceil(there.length / mostPoints);
  return there.filter((_, i) => i % every === 0 || i === there.length - 1);
}

/** Where the run stands, in figures; those that were not measured are left out. */
function tilesOf({ steps, evaluations, variance, summary, experiment }: RunReport): Tile[] {
  const tiles: Tile[] = [];
  const add = (name: string, column: Column, text: (value: number) => string, remark = '') => {
    const value = last(column);
    if (value !== null) tiles.push({ name, value: text(value), remark, course: courseOf(column) });
  };
  const range = (low: number | null, high: number | null, text: (value: number) => string) =>
    low === null || high === null || experiment.replicas === 1 ? '' : `replicas ${text(low)} to ${text(high)}`;
  const { accuracy, loss } = evaluations;
  if (last(accuracy.mean) !== null) {
    const plain = (value: number) => (100 * value).toFixed(1);
    add('test accuracy', accuracy.mean, percent, range(last(accuracy.min), last(accuracy.max), plain));
    add('merged model', evaluations.mergedAccuracy, percent);
  } else {
    const root = (column: Column) => column.map((value) => value && Math.sqrt(value));
    add('test error', root(loss.mean), short, range(last(root(loss.min)), last(root(loss.max)), short));
    add('error of the merged model', root(evaluations.mergedLoss), short);
  }
  add('training loss', steps.loss.mean, short);
  add('Gini of the norms', variance.mean.gini, tick);
  const target = last(steps.targetDistance);
  add('distance Ξ', steps.distance, short, target === null ? '' : `target ${short(target)}`);
  add('learning rate', steps.learningRate, tick);
  add('neighbours k', steps.connections, (k) => number(k, 3));
  if (summary.sentBytes !== null)
    tiles.push({ name: 'sent per replica', value: bytes(summary.sentBytes), remark: '', course: [] });
  const ms = steps.step.map((_, i) => Object.values(steps.ms).reduce((sum, column) => sum + (column[i] ?? 0), 0));
  add('virtual time', steps.virtualSeconds, seconds);
  add('time per step', ms, (value) => `${short(value)} ms`);
  return tiles;
}

/** Figures of a run with their small curves. */
export class Tiles {
  readonly element = make('div', { className: 'tiles' });
  readonly #shown = new Map<string, { readonly text: string; readonly element: HTMLElement }>();

  show(run: RunReport): void {
    const tiles = tilesOf(run).map((tile) => {
      const text = JSON.stringify(tile);
      const before = this.#shown.get(tile.name);
      if (before?.text === text) return before.element;
      const element = make(
        'div',
        { className: 'tile' },
        make('small', {}, tile.name),
        make('strong', {}, tile.value),
        make('small', { className: 'remark' }, tile.remark),
        sparkline([tile.course], [120, 26]),
      );
      this.#shown.set(tile.name, { text, element });
      return element;
    });
    const before = this.element.children;
    if (before.length !== tiles.length || tiles.some((tile, i) => tile !== before[i]))
      this.element.replaceChildren(...tiles);
  }
}
