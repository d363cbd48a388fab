import { bytes, number, ratio } from '../base/format.ts';
import { timeText } from '../network/text.ts';
import { networkChoices } from './choice.ts';
import { clearlyBest, differenceIn, isClear } from './difference.ts';
import { hasFinal, targetText } from './evidence.ts';
import { seconds, short, tick } from './figure/axis.ts';
import { swatch } from './figure/compose.ts';
import { implementations, styleOf } from './figure/figure.ts';
import { light } from './figure/theme.ts';
import { html, Markup } from './markup.ts';
import type { Comparison, Estimate, Group, Report } from './report.ts';
import { finalOf, mergedOf, type ScoreWords, scoreIn, scoreOfAll } from './score.ts';
import { plainDocument } from './still.ts';
import { hasRow, placementText } from './words.ts';

export const dash = '–';
const known = (estimate: Estimate | null, show: (value: number) => string) =>
  estimate === null ? dash : show(estimate.mean);
const half = (estimate: Estimate | null, show: (value: number) => string) =>
  estimate?.half == null ? '' : html`<small>± ${show(estimate.half)}</small>`;

/** What stands for an implementation in every figure. */
export function mark(report: Report, implementation: string): Markup {
  const index = implementations(report).indexOf(implementation);
  const look = { ...styleOf(report, implementation, light), colour: 'currentColor' };
  const drawn = swatch(look, {
    document: plainDocument(),
    width: 0,
    theme: { ...light, background: 'var(--background)' },
    still: true,
  });
  return html`<span class="swatch" aria-hidden="true" style="color:var(--series-${index % light.series.length})">${new Markup(drawn.outerHTML)}</span>`;
}

/** From the least to the largest replica of all seeds. */
function range(report: Report, group: Group, { show }: ScoreWords): Markup | string {
  const all = group.runs.flatMap((index) => {
    const { accuracy, error } = report.runs[index]!.summary;
    return accuracy ?? error ?? [];
  });
  if (all.length === 0) return '';
  return html`<small>${show(Math.min(...all.map(({ min }) => min)))} to ${show(Math.max(...all.map(({ max }) => max)))}</small>`;
}

/** Whether consensus is controlled in some run: then gossips per step are worth a column. */
const isControlled = ({ runs }: Report) => runs.some(({ experiment }) => experiment.consensus.kind !== 'none');

const capped = ({ control }: Group) =>
  control === null ? '' : html`<small>at the cap in ${control.capped} of ${control.steps} steps</small>`;

function summaryRow(report: Report, group: Group, score: ScoreWords, best: boolean): Markup {
  const several = report.comparisons.length > 1;
  const { seeds, complete, runs } = group;
  const [final, merged] = [finalOf(group), mergedOf(group)];
  const partial = complete < runs.length ? html`<small>${complete} complete</small>` : '';
  return html`<tr><th scope="row">${mark(report, group.name)} ${group.name}</th>
${several ? '' : html`<td>${number(group.replicas)}</td>`}
<td>${seeds.length}${partial}</td>
<td>${known(group.connections, short)}</td>
${isControlled(report) ? html`<td>${known(group.gossips, short)}${capped(group)}</td>` : ''}
<td${new Markup(best ? ' class="best"' : '')}>${known(final, score.show)}${final?.half == null ? '' : html` ± ${score.show(final.half)}`}${range(report, group, score)}</td>
<td>${known(merged, score.show)}${half(merged, score.show)}</td>
<td>${known(group.loss, (value) => value.toFixed(3))}${half(group.loss, (value) => value.toFixed(3))}</td>
<td>${known(group.peakGini, short)}${group.peakGiniAt === null ? '' : html`<small>at ${(100 * group.peakGiniAt.mean).toFixed(0)} % of steps</small>`}</td>
<td>${known(group.finalDistance, (value) => tick(Number(value.toPrecision(3))))}</td>
<td>${known(group.sentBytes, bytes)}</td>
<td>${known(group.seconds, seconds)}</td></tr>`;
}

/** The groups of each comparison, below its label if there are several. */
function byComparison(
  report: Report,
  columns: number,
  row: (index: number, comparison: Comparison) => Markup,
): Markup[] {
  return report.comparisons.flatMap((comparison) => {
    const heading = html`<tr class="scale"><th colspan="${columns}" scope="colgroup">${comparison.label}</th></tr>`;
    const rows = comparison.groups.map((index) => row(index, comparison));
    return [...(report.comparisons.length > 1 ? [heading] : []), ...rows];
  });
}

export function summary(report: Report): Markup {
  const several = report.comparisons.length > 1;
  const controlled = isControlled(report);
  const { name, unit, sign } = scoreOfAll(report);
  const rows = byComparison(report, (several ? 10 : 11) + (controlled ? 1 : 0), (index, comparison) =>
    summaryRow(report, report.groups[index]!, scoreIn(report, comparison), clearlyBest(comparison) === index),
  );
  return html`<section aria-labelledby="summary"><h2 id="summary">Summary</h2>
<div class="card scroll" tabindex="0" role="region" aria-label="Summary table"><table>
<thead><tr><th scope="col">implementation</th>${several ? '' : html`<th scope="col">replicas</th>`}<th scope="col">seeds</th><th scope="col">connections</th>${controlled ? html`<th scope="col">gossips<small>per step</small></th>` : ''}
<th scope="col">test ${name}${unit}<small>least to largest replica</small></th><th scope="col">merged model${unit}</th><th scope="col">test loss</th>
<th scope="col">peak Gini</th><th scope="col">final Ξ</th><th scope="col">sent<small>by one replica</small></th><th scope="col">training time</th></tr></thead>
<tbody>${rows}</tbody></table></div>
<p class="hint">${name === 'accuracy' ? 'Accuracy' : 'Error (the root of the mean squared error)'} and loss are means over the local models at the last evaluation, and over the seeds; ± is half of the 95 % interval over the seeds (Student’s t).
Connections are neighbours per replica, mean over the steps${controlled ? '; under consensus control each gossip of a step counts, and a step that ended at the cap of gossips missed its target' : ''}. Bold, if anything, is an ${name} that is ${sign > 0 ? 'above' : 'below'} every other beyond noise (see the differences).
Peak Gini is a mean over the weight tensors, those with two or more dimensions: biases and the shifts of norms start at 0, and their early Gini says little.</p></section>`;
}

/** How much more accurate the implementation of a row is than that of a column: a table for each comparison. */
export function differences(report: Report): Markup | string {
  const tables = report.comparisons.map((comparison, index) => {
    const score = scoreIn(report, comparison);
    const complete = comparison.groups.filter((group) => hasFinal(report.groups[group]!));
    if (complete.length < 2) return '';
    const name = (group: number) => report.groups[group]!.name;
    const cell = (a: number, b: number) => {
      const difference = a === b ? null : differenceIn(comparison, a, b);
      if (difference === null) return html`<td class="never">${a === b ? '' : dash}</td>`;
      const tone = isClear(difference) ? (score.sign * difference.mean > 0 ? ' class="better"' : ' class="worse"') : '';
      return html`<td${new Markup(tone)}>${score.showEstimate(difference)}</td>`;
    };
    return html`<div class="card scroll" tabindex="0" role="region" aria-label="Differences in test ${score.name}, ${comparison.label}" data-comparison="${index}"><table>
<thead><tr><th scope="col">${report.comparisons.length > 1 ? `${comparison.label}: ` : ''}row − column</th>${complete.map((b) => html`<th scope="col">${name(b)}</th>`)}</tr></thead>
<tbody>${complete.map((a) => html`<tr><th scope="row">${mark(report, name(a))} ${name(a)}</th>${complete.map((b) => cell(a, b))}</tr>`)}</tbody></table></div>`;
  });
  if (tables.every((table) => table === '')) return '';
  const { name, sign } = scoreOfAll(report);
  return html`<section aria-labelledby="differences"><h2 id="differences">Differences in test ${name}</h2>${tables}
<p class="hint">${sign > 0 ? 'In points' : 'In units of the error'}, seed by seed over the seeds that both have, with half of the 95 % interval; with one seed there is no interval, and no difference can be told from noise.
Coloured and bold are differences beyond noise: their interval excludes 0. Each interval holds by itself: of 20 pairs that do not differ about one is coloured by chance.</p></section>`;
}

function costRow(report: Report, group: Group): Markup {
  const cells = group.reached.map(({ runs, epochs, sentBytes, seconds: time }) => {
    if (runs === 0) return html`<td colspan="3" class="never">never</td>`;
    const some = runs < group.complete ? html`<small>${runs} of ${group.complete} seeds</small>` : '';
    return html`<td>${known(epochs, short)}${some}</td><td>${known(sentBytes, bytes)}</td><td>${known(time, seconds)}</td>`;
  });
  return html`<tr><th scope="row">${mark(report, group.name)} ${group.name}</th>${cells}</tr>`;
}

/** A table for each comparison, which has its own targets; the page shows that of the comparison looked at. */
export function cost(report: Report): Markup | string {
  const { name: score } = scoreOfAll(report);
  const tables = report.comparisons.map(({ label, groups }, index) => {
    const peers = groups.map((group) => report.groups[group]!);
    const targets = peers[0]!.reached.map(targetText);
    if (targets.length === 0) return '';
    const name = `Cost until an ${score} is reached, ${label}`;
    return html`<div class="card scroll" tabindex="0" role="region" aria-label="${name}" data-comparison="${index}"><table>
<thead><tr><th scope="col" rowspan="2">${report.comparisons.length > 1 ? label : 'implementation'}</th>${targets.map((target) => html`<th scope="colgroup" colspan="3" class="target">${target}</th>`)}</tr>
<tr>${targets.map(() => html`<th scope="col">epochs</th><th scope="col">sent</th><th scope="col">time</th>`)}</tr></thead>
<tbody>${peers.map((group) => costRow(report, group))}</tbody></table></div>`;
  });
  if (tables.every((table) => table === '')) return '';
  return html`<section aria-labelledby="cost"><h2 id="cost">Cost until an ${score} is reached</h2>${tables}
<p class="hint">${score === 'accuracy' ? 'When the mean test accuracy of the local models first reaches 90, 95 and 99 % of the best of the comparison, in whole points' : 'When the test error of the local models first comes down to what the least error of the comparison is 90, 95 and 99 % of'}: epochs, bytes sent by one replica,
and time of training without evaluation. ${score === 'accuracy' ? 'Accuracy' : 'The error'} is known at evaluations alone.</p></section>`;
}

/** When each implementation reaches the accuracies on each network; the fastest is marked. */
export function networkTimes(report: Report): Markup | string {
  const { comparisons, groups, networks } = report;
  const tables = comparisons.flatMap(({ label, groups: members }, index) => {
    const targets = networks
      .slice(0, 1)
      .flatMap(({ groups: timed }) => timed[members[0]!]!.reached.map(({ accuracy }) => percentOf(accuracy)));
    if (targets.length === 0) return [];
    const rows = networks.flatMap((network) => {
      const { name, groups: timed } = network;
      const least = targets.map((_, target) =>
        Math.min(...members.map((group) => timed[group]!.reached[target]!.seconds?.mean ?? Number.POSITIVE_INFINITY)),
      );
      const cells = (group: number) =>
        timed[group]!.reached.map(({ seconds: time, sentBytes }, target) => {
          const { elsewhere } = timed[group]!;
          if (time === null)
            return html`<td colspan="2" class="never">${elsewhere ? 'not timed here' : 'not reached'}</td>`;
          const best = time.mean === least[target];
          return html`<td${new Markup(best ? ' class="best"' : '')}>${timeText(1e9 * time.mean, 3)}<small>${ratio(time.mean, least[target]!)}</small></td><td>${known(sentBytes, bytes)}</td>`;
        });
      const heading = html`<tr class="scale"><th colspan="${1 + 2 * targets.length}" scope="colgroup">${name}</th></tr>`;
      return [
        heading,
        ...members
          .filter((group) => hasRow(networks, network, group))
          .map(
            (group) =>
              html`<tr><th scope="row">${mark(report, groups[group]!.name)} ${groups[group]!.name}</th>${cells(group)}</tr>`,
          ),
      ];
    });
    const name = `Time to an accuracy on networks, ${label}`;
    return [
      html`<div class="card scroll" tabindex="0" role="region" aria-label="${name}" data-comparison="${index}"><table>
<thead><tr><th scope="col" rowspan="2">${comparisons.length > 1 ? label : 'implementation'}</th>${targets.map((target) => html`<th scope="colgroup" colspan="2" class="target">${target}</th>`)}</tr>
<tr>${targets.map(() => html`<th scope="col">virtual time</th><th scope="col">sent</th>`)}</tr></thead>
<tbody>${rows}</tbody></table></div>`,
    ];
  });
  if (tables.length === 0) return '';
  const times = new Set(networks.map((network) => network.compute));
  const compute =
    times.size === 1 ? [...times][0] : networks.map((network) => `${network.name} ${network.compute}`).join(', ');
  const gains = networks.flatMap((network) => {
    const text = placementText(network, groups);
    return text === '' ? [] : [`${network.name}: ${text}`];
  });
  const placed =
    gains.length === 0 ? '' : ` A step of plain gossip with devices as listed, instead of placed: ${gains.join('; ')}.`;
  return html`<section aria-labelledby="networks"><h2 id="networks">Time to an accuracy on networks</h2>
<ul class="choices">${networkChoices(report).map(({ network, accuracy, name, why }) => html`<li><b>${network}</b>: ${mark(report, name)} <b>${name}</b> is first to ${percentOf(accuracy)}, after ${why}.</li>`)}</ul>
${tables}
<p class="hint">The same runs, timed on each network without training again: virtual time at the first evaluation that reaches the accuracy, times the fastest on that network, and bytes sent by one replica.
Bold is the fastest. Compute time of a step: ${compute}.${placed}</p></section>`;
}

const percentOf = (share: number) => `${number(100 * share, 3)} %`;
