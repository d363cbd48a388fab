import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { UserError } from '../base/error.ts';
import { bytes, number } from '../base/format.ts';
import { packageVersion } from '../base/version.ts';
import { type Figure, implementations, type PageData, scales, type View } from './figure/figure.ts';
import { figures } from './figure/figures.ts';
import { fitted } from './fit.ts';
import { html, Markup, script, scriptData } from './markup.ts';
import { picturesOf } from './picture.ts';
import type { Observation, Report } from './report.ts';
import { commands, type Recipe, recipes } from './reproduce.ts';
import { style } from './style.ts';
import { cost, dash, differences, mark, networkTimes, summary } from './tables.ts';

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

const count = (n: number, word: string) => `${number(n)} ${word}${n === 1 ? '' : 's'}`;

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
<li><a href="#summary">Summary</a></li>
${report.comparisons.some(({ differences }) => differences.length > 0) ? html`<li><a href="#differences">Differences</a></li>` : ''}
<li><a href="#observations">Claims</a></li>
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
};

function judged({ claim, criterion, holds, finding, details }: Observation): Markup {
  const { word, path } = verdicts[String(holds) as keyof typeof verdicts];
  return html`<article class="card observation-${String(holds)}">
<p class="verdict"><svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true"><path d="${path}" fill="none" stroke="currentColor" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round"/></svg>${word}</p>
<p class="claim">${claim}</p>
<p class="finding">${finding}</p>
<p class="criterion">Criterion: ${criterion}</p>
${details.length === 0 ? '' : html`<details><summary>In detail</summary><ul>${details.map((line) => html`<li>${line}</li>`)}</ul></details>`}
</article>`;
}

/** Claims that these runs cannot tell are one card: what a verdict would need, and the numbers so far. */
function open(observations: readonly Observation[]): Markup | string {
  if (observations.length === 0) return '';
  return html`<article class="card observation-null"><p class="verdict">These runs cannot tell</p><dl>${observations.map(
    ({
      claim,
      needs,
      finding,
      criterion,
    }) => html`<div><dt>${claim}</dt><dd>Needs ${needs}.${finding === '' ? '' : html` So far: ${finding}`}
<span class="criterion">Criterion: ${criterion}</span></dd></div>`,
  )}</dl></article>`;
}

function observations(report: Report): Markup {
  const told = report.observations.filter(({ holds }) => holds !== null);
  return html`<section aria-labelledby="observations"><h2 id="observations">Claims of the paper, held against these runs</h2>
${told.length === 0 ? '' : html`<div class="observations">${told.map(judged)}</div>`}
${open(report.observations.filter(({ holds }) => holds === null))}</section>`;
}

const viewsOf = (report: Report): View[] =>
  report.comparisons.map((_, comparison) => ({ report, pictures: [], comparison, hidden: new Set<string>() }));

/** Those with something to show at some scale; topologies always have. */
function shownFigures(report: Report): Figure[] {
  return figures.filter((figure) => figure.id === 'topologies' || viewsOf(report).some((view) => figure.applies(view)));
}

function drawings(report: Report): Markup {
  const shown = shownFigures(report);
  const narrow = shown.filter(({ wide }) => !wide);
  // Without a neighbour it takes the whole row.
  const lone = narrow.length % 2 === 1 ? narrow.at(-1)!.id : undefined;
  return html`<section aria-labelledby="figures"><h2 id="figures">Figures</h2><noscript><p>The figures need a browser that runs scripts.</p></noscript>
<div class="figures">${shown.map(
    ({
      id,
      title,
      caption,
      wide,
    }) => html`<figure class="card${wide || id === lone ? ' wide' : ''}" id="${id}" data-figure="${id}">
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
    'The dispersion statistics, the variance ranks, the claims and Ada: Xie, Yin, Zhou, Oral, Wang, “Scaling Up Data Parallelism in Decentralized Deep Learning”, arXiv 2509.12213, 2025.',
    ...(controlled
      ? [
          'Consensus control: Kong, Lin, Koloskova, Jaggi, Stich, “Consensus Control for Decentralized Deep Learning”, ICML 2021.',
        ]
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
  // Nothing but what is in the file: even if a name or a note holds markup.
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
${summary(report)}
${differences(report)}
${observations(report)}
${cost(report)}
${networkTimes(report)}
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
