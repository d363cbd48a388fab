import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { UserError } from '../base/error.ts';
import { bytes, number } from '../base/format.ts';
import { packageVersion } from '../base/version.ts';
import { seconds, short, tick } from './figure/axis.ts';
import { swatch } from './figure/compose.ts';
import { type Figure, implementations, type PageData, scales, styleOf, type View } from './figure/figure.ts';
import { figures } from './figure/figures.ts';
import { light } from './figure/theme.ts';
import { fitted } from './fit.ts';
import { html, Markup, script, scriptData } from './markup.ts';
import { picturesOf } from './picture.ts';
import type { Estimate, Group, Observation, Report } from './report.ts';
import { commands, type Recipe, recipes } from './reproduce.ts';
import { plainDocument } from './still.ts';
import { style } from './style.ts';

/** The page's program with all it needs, made by the build; from sources and from the package it is in the same place. */
const bundle = new URL('../../dist/report/page.js', import.meta.url);

function program(): string {
  if (!existsSync(bundle))
    throw new UserError(`the program of the report page is missing: ${fileURLToPath(bundle)}`, {
      hint: 'run: npm run build',
    });
  return readFileSync(bundle, 'utf8');
}

/** As many digits as any screen can show. */
const rounded = (_: string, value: unknown) =>
  typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(5)) : value;

const dash = '–';
const known = (estimate: Estimate | null, show: (value: number) => string) =>
  estimate === null ? dash : show(estimate.mean);
const half = (estimate: Estimate | null, show: (value: number) => string) =>
  estimate?.half == null ? '' : html`<small>± ${show(estimate.half)}</small>`;
const points = (share: number) => (100 * share).toFixed(2);
const count = (n: number, word: string) => `${number(n)} ${word}${n === 1 ? '' : 's'}`;

/** What stands for an implementation in every figure. */
function mark(report: Report, implementation: string): Markup {
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

function head(report: Report): Markup {
  const names = implementations(report);
  const seeds = new Set(report.groups.flatMap((group) => group.seeds));
  const dates = report.runs.map(({ context }) => context.startedAt.slice(0, 10)).sort();
  const when = dates[0] === dates.at(-1) ? dates[0]! : `${dates[0]} to ${dates.at(-1)}`;
  const facts = [
    count(report.runs.length, 'run'),
    count(names.length, 'implementation'),
    `${scales(report)
      .map((n) => number(n))
      .join(', ')} replicas`,
    count(seeds.size, 'seed'),
    when,
  ];
  return html`<header>
<p class="eyebrow">DBench report</p>
<h1>${report.title}</h1>
<p class="lead">${facts.join(' · ')}</p>
<nav aria-label="Contents"><ul>
<li><a href="#observations">Observations</a></li>
<li><a href="#summary">Summary</a></li>
${shownFigures(report).map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}
<li><a href="#machine">Machine</a></li>
<li><a href="#experiment">Experiment</a></li>
<li><a href="#reproduce">Reproduce and cite</a></li>
</ul></nav>
${report.notes.length === 0 ? '' : html`<aside class="notes" aria-label="Notes"><ul>${report.notes.map((note) => html`<li>${note}</li>`)}</ul></aside>`}
</header>`;
}

function bar(report: Report): Markup {
  const { comparisons } = report;
  return html`<div class="bar"><div>
${
  comparisons.length < 2
    ? ''
    : comparisons.length > 6
      ? html`<label>Scale <select id="comparison">${comparisons.map(({ label }, i) => html`<option value="${i}"${new Markup(i === comparisons.length - 1 ? ' selected' : '')}>${label}</option>`)}</select></label>`
      : html`<fieldset id="comparison"><legend>Scale</legend><div class="segments">${comparisons.map(({ label }, i) => html`<label><input type="radio" name="comparison" value="${i}"${new Markup(i === comparisons.length - 1 ? ' checked' : '')}><span>${label}</span></label>`)}</div></fieldset>`
}
<fieldset id="shown"><legend>Show</legend><div class="chips">${implementations(report).map((name) => html`<label><input type="checkbox" checked value="${name}">${mark(report, name)}<span class="name">${name}</span></label>`)}</div></fieldset>
<button type="button" id="theme" class="push">Dark</button>
</div></div>`;
}

const verdicts = {
  true: { word: 'Holds', path: 'M4 10.5l4 4L16 6' },
  false: { word: 'Does not hold', path: 'M5 5l10 10M15 5L5 15' },
  null: { word: 'These runs cannot tell', path: 'M7 7.5a3 3 0 1 1 4.2 2.7c-.8.4-1.2.9-1.2 1.8m0 3v.1' },
};

function observation({ claim, holds, finding, details }: Observation): Markup {
  const { word, path } = verdicts[String(holds) as keyof typeof verdicts];
  return html`<article class="card observation-${String(holds)}">
<p class="verdict"><svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true"><path d="${path}" fill="none" stroke="currentColor" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round"/></svg>${word}</p>
<p class="claim">${claim}</p>
<p class="finding">${finding}</p>
${details.length === 0 ? '' : html`<details><summary>In detail</summary><ul>${details.map((line) => html`<li>${line}</li>`)}</ul></details>`}
</article>`;
}

/** From the least to the largest replica of all seeds. */
function range(report: Report, group: Group): Markup | string {
  const all = group.runs.flatMap((index) => report.runs[index]!.summary.accuracy ?? []);
  if (all.length === 0) return '';
  return html`<small>${points(Math.min(...all.map(({ min }) => min)))} to ${points(Math.max(...all.map(({ max }) => max)))}</small>`;
}

function summaryRow(report: Report, group: Group, best: number): Markup {
  const several = report.comparisons.length > 1;
  const { accuracy, seeds, complete, runs } = group;
  const partial = complete < runs.length ? html`<small>${complete} complete</small>` : '';
  return html`<tr><th scope="row">${mark(report, group.name)} ${group.name}</th>
${several ? '' : html`<td>${number(group.replicas)}</td>`}
<td>${seeds.length}${partial}</td>
<td>${known(group.connections, short)}</td>
<td${new Markup(accuracy?.mean === best ? ' class="best"' : '')}>${known(accuracy, points)}${accuracy?.half == null ? '' : html` ± ${points(accuracy.half)}`}${range(report, group)}</td>
<td>${known(group.mergedAccuracy, points)}${half(group.mergedAccuracy, points)}</td>
<td>${known(group.loss, (value) => value.toFixed(3))}${half(group.loss, (value) => value.toFixed(3))}</td>
<td>${known(group.peakGini, short)}${group.peakGiniAt === null ? '' : html`<small>at ${(100 * group.peakGiniAt.mean).toFixed(0)} % of steps</small>`}</td>
<td>${known(group.finalDistance, (value) => tick(Number(value.toPrecision(3))))}</td>
<td>${known(group.sentBytes, bytes)}</td>
<td>${known(group.seconds, seconds)}</td></tr>`;
}

/** The groups of each comparison, below its label where there are several. */
function byComparison(
  report: Report,
  columns: number,
  row: (group: Group, peers: readonly Group[]) => Markup,
): Markup[] {
  return report.comparisons.flatMap(({ label, groups }) => {
    const peers = groups.map((index) => report.groups[index]!);
    const heading = html`<tr class="scale"><th colspan="${columns}" scope="colgroup">${label}</th></tr>`;
    return [...(report.comparisons.length > 1 ? [heading] : []), ...peers.map((group) => row(group, peers))];
  });
}

function summary(report: Report): Markup {
  const bestOf = (peers: readonly Group[]) => Math.max(...peers.map(({ accuracy }) => accuracy?.mean ?? 0));
  const several = report.comparisons.length > 1;
  const rows = byComparison(report, several ? 10 : 11, (group, peers) => summaryRow(report, group, bestOf(peers)));
  return html`<section aria-labelledby="summary"><h2 id="summary">Summary</h2>
<div class="card scroll" tabindex="0" role="region" aria-label="Summary table"><table>
<thead><tr><th scope="col">implementation</th>${several ? '' : html`<th scope="col">replicas</th>`}<th scope="col">seeds</th><th scope="col">connections</th>
<th scope="col">test accuracy %<small>least to largest replica</small></th><th scope="col">merged model %</th><th scope="col">test loss</th>
<th scope="col">peak Gini</th><th scope="col">final Ξ</th><th scope="col">sent<small>by one replica</small></th><th scope="col">training time</th></tr></thead>
<tbody>${rows}</tbody></table></div>
<p class="hint">Accuracy and loss are means over the local models at the last evaluation, and over the seeds; ± is half of the 95 % interval over the seeds (Student’s t).
Connections are neighbours a replica, mean over the steps. Bold is the best mean at its scale.</p></section>`;
}

function costRow(report: Report, group: Group): Markup {
  const cells = group.reached.map(({ runs, epochs, sentBytes, seconds: time }) => {
    if (runs === 0) return html`<td colspan="3" class="never">never</td>`;
    const some = runs < group.runs.length ? html`<small>${runs} of ${group.runs.length} seeds</small>` : '';
    return html`<td>${known(epochs, short)}${some}</td><td>${known(sentBytes, bytes)}</td><td>${known(time, seconds)}</td>`;
  });
  return html`<tr><th scope="row">${mark(report, group.name)} ${group.name}</th>${cells}</tr>`;
}

/** A table for each comparison, which has its own targets; the page shows that of the comparison looked at. */
function cost(report: Report): Markup | string {
  const tables = report.comparisons.map(({ label, groups }, index) => {
    const peers = groups.map((group) => report.groups[group]!);
    const targets = peers[0]!.reached.map(({ accuracy }) => percentOf(accuracy));
    if (targets.length === 0) return '';
    const name = `Cost until an accuracy is reached, ${label}`;
    return html`<div class="card scroll" tabindex="0" role="region" aria-label="${name}" data-comparison="${index}"><table>
<thead><tr><th scope="col" rowspan="2">${report.comparisons.length > 1 ? label : 'implementation'}</th>${targets.map((target) => html`<th scope="colgroup" colspan="3" class="target">${target}</th>`)}</tr>
<tr>${targets.map(() => html`<th scope="col">epochs</th><th scope="col">sent</th><th scope="col">time</th>`)}</tr></thead>
<tbody>${peers.map((group) => costRow(report, group))}</tbody></table></div>`;
  });
  if (tables.every((table) => table === '')) return '';
  return html`<section aria-labelledby="cost"><h2 id="cost">Cost until an accuracy is reached</h2>${tables}
<p class="hint">When the mean test accuracy of the local models first reaches 90, 95 and 99 % of the best of the comparison, in whole points: epochs, bytes sent by one replica,
and time of training without evaluation. Accuracy is known at evaluations alone.</p></section>`;
}

const percentOf = (share: number) => `${number(100 * share, 3)} %`;

const viewsOf = (report: Report): View[] =>
  report.comparisons.map((_, comparison) => ({ report, pictures: [], comparison, hidden: new Set<string>() }));

/** Those with something to show at some scale; topologies always have. */
function shownFigures(report: Report): Figure[] {
  return figures.filter((figure) => figure.id === 'topologies' || viewsOf(report).some((view) => figure.applies(view)));
}

function drawings(report: Report): Markup {
  return html`<section aria-labelledby="figures"><h2 id="figures">Figures</h2><noscript><p>The figures need a browser that runs scripts.</p></noscript>
<div class="figures">${shownFigures(report).map(
    ({ id, title, caption }, i) => html`<figure class="card${i === 0 ? ' wide' : ''}" id="${id}" data-figure="${id}">
<h3>${title}</h3><div class="controls"></div><div class="drawing" role="img" aria-label="${title}"></div><figcaption>${caption}</figcaption>
<div class="save"><button type="button" data-save="svg">Save SVG</button><button type="button" data-save="png">Save PNG</button></div></figure>`,
  )}</div></section>`;
}

function machine(report: Report): Markup {
  const rows = new Map<string, { ids: string[]; facts: readonly string[] }>();
  for (const { id, context: c } of report.runs) {
    const facts = [
      c.cpu,
      `${count(c.cores, 'core')}, ${count(c.workers, 'worker')}`,
      bytes(c.memoryBytes),
      `Node ${c.node}, ${c.platform}`,
      c.backend,
      `${c.dbench}${c.commit === null ? '' : ` (${c.commit.slice(0, 10)})`}`,
    ];
    const row = rows.get(facts.join('\n'));
    if (row === undefined) rows.set(facts.join('\n'), { ids: [id], facts });
    else row.ids.push(id);
  }
  const loads = report.runs.map(({ context }) => context.load);
  return html`<section aria-labelledby="machine"><h2 id="machine">Machine</h2><div class="card scroll" tabindex="0" role="region" aria-label="Machine"><table>
<thead><tr><th scope="col">runs</th><th scope="col">processor</th><th scope="col">cores</th><th scope="col">memory</th><th scope="col">system</th><th scope="col">backend</th><th scope="col">DBench</th></tr></thead>
<tbody>${[...rows.values()].map(({ ids, facts }) => html`<tr><th scope="row">${rows.size === 1 ? 'all' : count(ids.length, 'run')}</th>${facts.map((fact) => html`<td>${fact}</td>`)}</tr>`)}</tbody></table></div>
<p class="hint">Load when the runs were started: ${number(Math.min(...loads), 2)} to ${number(Math.max(...loads), 2)}. Seconds depend on the machine and its load; accuracies do not.</p>
<details class="card"><summary>All runs</summary><div class="scroll"><table><thead><tr><th scope="col">run</th><th scope="col">group</th><th scope="col">seed</th><th scope="col">status</th><th scope="col">steps</th><th scope="col">started</th><th scope="col">SHA-256 of the parameters</th></tr></thead>
<tbody>${report.runs.map(({ id, group, summary, experiment, context }) => html`<tr><th scope="row">${id}</th><td>${report.groups[group]!.label}</td><td>${experiment.seed}</td><td>${summary.status}</td><td>${number(summary.steps)}</td><td>${context.startedAt.slice(0, 16).replace('T', ' ')}</td><td><code>${summary.paramsSha256?.slice(0, 16) ?? dash}</code></td></tr>`)}</tbody></table></div></details></section>`;
}

const copied = (text: string) =>
  html`<div class="with-copy"><button type="button" data-copy>Copy</button><pre><code>${text}</code></pre></div>`;

function experiment(all: readonly Recipe[]): Markup {
  return html`<section aria-labelledby="experiment"><h2 id="experiment">Experiment</h2>
<p class="hint">Every setting, defaults included: a file with this text gives these runs again, to the same bits on processors with the same vector width.</p>
${all.map(({ title, yaml, file }) => html`<details class="card"><summary>${title} <code>${file}</code></summary>${copied(yaml)}</details>`)}</section>`;
}

function reproduce(report: Report, all: readonly Recipe[]): Markup {
  const versions = [...new Set(report.runs.map(({ context }) => context.dbench))].join(', ');
  const controlled = report.runs.some(({ experiment }) => experiment.consensus.kind !== 'none');
  const cite = [
    `DBench ${versions}, software for decentralized deep learning, MIT licence. Report “${report.title}”.`,
    'The four dispersion statistics, the variance ranks and the observations are those of DBench; Ada is its adaptive topology.',
    ...(controlled
      ? ['Consensus control: Kong et al., “Consensus control for decentralized deep learning”, 2021.']
      : []),
  ];
  return html`<section aria-labelledby="reproduce"><h2 id="reproduce">Reproduce and cite</h2><div class="card">
<h3>Reproduce</h3><p>Save the experiment above under its name, then:</p>${copied(commands(all).join('\n'))}
<h3>Cite</h3>${cite.map((line) => html`<p>${line}</p>`)}</div></section>`;
}

/** One file that opens from disk in any browser, and fetches nothing. */
export function reportHtml(whole: Report): string {
  const report = fitted(whole);
  const data: PageData = { report, pictures: picturesOf(report) };
  const all = recipes(report);
  // Nothing but what is in the file: also where a name or note should hold markup.
  const policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:";
  return html`<!doctype html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="DBench ${packageVersion()}">
<title>${report.title} · DBench</title>
<style>${new Markup(style)}</style>
<script>if(matchMedia('(prefers-color-scheme: dark)').matches)document.documentElement.dataset.theme='dark'</script>
</head>
<body>
${head(report)}
${bar(report)}
<main>
<section aria-labelledby="observations"><h2 id="observations">What these runs show</h2><div class="observations">${report.observations.map(observation)}</div></section>
${summary(report)}
${cost(report)}
${drawings(report)}
${machine(report)}
${experiment(all)}
${reproduce(report, all)}
</main>
<footer>Made by DBench ${packageVersion()}. Everything shown is in this file.</footer>
<script type="application/json" id="data">${scriptData(JSON.parse(JSON.stringify(data, rounded)))}</script>
<script>${script(program())}</script>
</body>
</html>
`.text;
}
