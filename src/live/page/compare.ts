import { bytes, number } from '../../base/format.ts';
import { clearlyBest } from '../../report/difference.ts';
import { seconds, short } from '../../report/figure/axis.ts';
import { swatch } from '../../report/figure/compose.ts';
import { type PageData, styleOf } from '../../report/figure/figure.ts';
import { figures } from '../../report/figure/figures.ts';
import { controls, make } from '../../report/page/controls.ts';
import type { Estimate, Observation, Report, RunReport } from '../../report/report.ts';
import { finalOf, mergedOf, scoreIn } from '../../report/score.ts';
import { addressOf, choose, here } from './address.ts';
import { type Listed, read } from './ask.ts';
import { Figures, theme } from './figures.ts';
import { RunPicker } from './picker.ts';
import { Pulse } from './pulse.ts';
import { renew } from './renew.ts';
import { meter } from './row.ts';

function told({ claim, holds, finding, criterion, details }: Observation): HTMLElement {
  return make(
    'article',
    { className: `card observation-${holds}` },
    make('p', { className: 'verdict' }, holds ? '✓ Holds' : '✕ Does not hold'),
    make('p', { className: 'claim' }, claim),
    make('p', { className: 'finding' }, finding),
    make(
      'details',
      {},
      make('summary', {}, 'Criterion'),
      make('p', { className: 'criterion' }, criterion),
      ...(details.length === 0 ? [] : [make('ul', {}, ...details.map((line) => make('li', {}, line)))]),
    ),
  );
}

/** What these runs cannot tell yet is one folded card: what a verdict would need. */
function untold(observations: readonly Observation[]): HTMLElement[] {
  if (observations.length === 0) return [];
  const items = observations.map(({ claim, needs, finding }) =>
    make(
      'div',
      {},
      make('dt', {}, claim),
      make('dd', {}, `Needs ${needs}.${finding === '' ? '' : ` So far: ${finding}`}`),
    ),
  );
  const title = `${observations.length === 1 ? 'One claim' : `${observations.length} claims`} of the paper cannot be told from these runs yet`;
  return [
    make('details', { className: 'card observation-null' }, make('summary', {}, title), make('dl', {}, ...items)),
  ];
}

/** More seeds are only counted. */
const mostSeeds = 8;

/** The seeds of a group, each with its run. */
const seedsOf = (runs: readonly RunReport[]): (Node | string)[] =>
  runs.length > mostSeeds
    ? [number(runs.length)]
    : runs.map(({ id, experiment: { seed } }) => {
        const link = make('a', { href: addressOf('run', id), title: id }, String(seed));
        link.setAttribute('aria-label', `The run with seed ${seed}`);
        return link;
      });

/** A row for each implementation: how far it is and what it came to until now. */
function tableOf(report: Report, at: number): HTMLElement {
  const comparison = report.comparisons[at]!;
  const score = scoreIn(report, comparison);
  const groups = comparison.groups.map((index) => report.groups[index]!);
  const best = clearlyBest(comparison);
  const cell = (estimate: Estimate | null, show: (value: number) => string, className = '') =>
    make('td', { className }, estimate === null ? '–' : show(estimate.mean));
  const rows = groups.map((group) => {
    const runs = group.runs.map((index) => report.runs[index]!);
    const states = [...new Set(runs.map(({ summary }) => summary.status))];
    const share =
      runs.reduce(
        (sum, { summary, plannedSteps }) =>
          sum +
          (summary.status === 'complete' ? 1 : plannedSteps === null ? 0 : Math.min(1, summary.steps / plannedSteps)),
        0,
      ) / runs.length;
    const final = finalOf(group);
    const link =
      runs.length === 1 ? make('a', { href: addressOf('run', runs[0]!.id) }, group.name) : make('span', {}, group.name);
    const mark = make('span', { className: 'swatch' });
    mark.append(
      swatch(styleOf(report, group.name, theme()), {
        document,
        width: 0,
        theme: theme(),
        still: true,
      }) as unknown as Node,
    );
    return make(
      'tr',
      {},
      make('th', { scope: 'row' }, mark, ' ', link),
      make(
        'td',
        { className: 'status' },
        make(
          'span',
          { className: 'line' },
          ...(share < 1
            ? [
                meter(
                  share,
                  states.includes('running') ? 'running' : states[0]!,
                  `${Math.round(100 * share)} % of all steps`,
                ),
              ]
            : []),
          states.join(', '),
        ),
      ),
      make('td', { className: 'seeds' }, ...seedsOf(runs)),
      make(
        'td',
        { className: report.groups[best ?? -1] === group ? 'best' : '' },
        final === null ? '–' : `${score.showEstimate(final)}${score.unit}`,
      ),
      cell(mergedOf(group), (value) => `${score.show(value)}${score.unit}`),
      cell(group.finalDistance, short),
      cell(group.sentBytes, bytes),
      cell(group.seconds, seconds),
    );
  });
  const head = [
    'implementation',
    'state',
    'seeds',
    `test ${score.name}`,
    'merged model',
    'distance Ξ',
    'sent per replica',
    'time',
  ];
  return make(
    'div',
    { className: 'card scroll' },
    make(
      'table',
      {},
      make(
        'thead',
        {},
        make(
          'tr',
          {},
          ...head.map((text) => make('th', { scope: 'col', className: text === 'state' ? 'status' : '' }, text)),
        ),
      ),
      make('tbody', {}, ...rows),
    ),
  );
}

/** The report's figures and observations of runs that are chosen, while they are going on. */
export class CompareView {
  readonly element = make('section', { className: 'compare-view' });
  readonly #picker = new RunPicker((ids) => {
    choose({ runs: ids.join(',') });
    this.#shown = '';
    if (this.#listed !== undefined) this.#picker.show(this.#listed.runs, this.#ids());
    this.#pulse.hurry();
  });
  readonly #scale = make('div', { className: 'controls' });
  readonly #head = make('div', {});
  readonly #first = new Figures(figures.filter(({ id }) => id === 'learning'));
  readonly #claims = make('div', {});
  readonly #rest = new Figures(figures.filter(({ id }) => id !== 'learning' && id !== 'progress'));
  #listed: Listed | undefined;
  #data: PageData | undefined;
  #shown = '';
  readonly #pulse = new Pulse(() => this.#update().catch((error) => this.#say(String(error.message))));

  constructor() {
    this.element.append(
      make('h1', { className: 'unseen' }, 'Compare'),
      this.#picker.element,
      this.#scale,
      this.#head,
      this.#first.element,
      this.#claims,
      this.#rest.element,
    );
  }

  list(listed: Listed): void {
    this.#listed = listed;
    this.#picker.show(listed.runs, this.#ids());
    this.#pulse.ask();
  }

  #ids(): string[] {
    const known = new Set(this.#listed?.runs.map(({ id }) => id));
    return (here().chosen.get('runs') ?? '').split(',').filter((id) => known.has(id));
  }

  async #update(): Promise<void> {
    const ids = this.#ids();
    const now = JSON.stringify(this.#listed!.runs.filter(({ id }) => ids.includes(id)));
    if (now === this.#shown) return;
    if (ids.length === 0)
      return this.#say(
        'Those that differ in nothing but their seed become one curve with a band. Runs that are going on are followed.',
      );
    const data = await read<PageData>('report', { runs: ids.join(',') });
    this.#shown = now;
    this.#data = data;
    this.#draw();
  }

  /** The comparison that is looked at: runs of other scales and tasks are compared by themselves. */
  #at({ comparisons }: Report): number {
    const found = comparisons.findIndex(({ label }) => label === here().chosen.get('at'));
    return found < 0 ? comparisons.length - 1 : found;
  }

  #draw(): void {
    if (this.#data === undefined) return;
    const { report } = this.#data;
    const at = this.#at(report);
    const options = report.comparisons.map(({ label }) => ({ value: label, label }));
    controls(
      this.#scale,
      'compare',
      [{ id: 'at', label: 'Scale', options }],
      { at: report.comparisons[at]!.label },
      (_, value) => {
        choose({ at: value });
        this.#draw();
      },
    );
    const notes = report.notes.map((note) => make('li', {}, note));
    renew(this.#head, JSON.stringify([report.title, report.notes, report.groups, at, theme().name]), () => [
      make('p', { className: 'lead' }, report.title),
      tableOf(report, at),
      ...(notes.length === 0
        ? []
        : [
            make(
              'details',
              { className: 'caption' },
              make('summary', {}, notes.length === 1 ? 'A note' : `${notes.length} notes`),
              make('ul', {}, ...notes),
            ),
          ]),
    ]);
    const judged = report.observations.filter(({ holds }) => holds !== null);
    renew(this.#claims, JSON.stringify(report.observations), () => [
      ...(judged.length === 0
        ? []
        : [make('h2', {}, 'Claims of the paper'), make('div', { className: 'observations' }, ...judged.map(told))]),
      ...untold(report.observations.filter(({ holds }) => holds === null)),
    ]);
    for (const part of [this.#first, this.#rest]) {
      part.element.hidden = false;
      part.show(this.#data, at);
    }
  }

  #say(text: string): void {
    this.#data = undefined;
    renew(this.#head, text, () => [make('p', { className: 'lead' }, text)]);
    renew(this.#claims, '', () => []);
    this.#scale.replaceChildren();
    delete this.#scale.dataset.offers;
    for (const { element } of [this.#first, this.#rest]) element.hidden = true;
  }

  redraw(): void {
    this.#draw();
  }

  close(): void {
    this.#pulse.close();
    this.#first.close();
    this.#rest.close();
  }
}
