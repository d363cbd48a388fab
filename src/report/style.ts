import { dark, light, type Theme } from './figure/theme.ts';

const variables = ({ background, ink, muted, shade, series }: Theme) =>
  [
    `--background:${background}`,
    `--ink:${ink}`,
    `--muted:${muted}`,
    `--shade:${shade}`,
    ...series.map((colour, i) => `--series-${i}:${colour}`),
  ].join(';');

/** Of the page: everything is in it, nothing is fetched. */
export const style = `
:root{${variables(light)};--page:#f4f6f9;--line:#d9e0e7;--accent:#0072b2;--good:#00704f;--bad:#b34700;--open:#56616d;color-scheme:light}
:root[data-theme=dark]{${variables(dark)};--page:#0e1318;--line:#2c3640;--accent:#6db8ee;--good:#3fcf9f;--bad:#f5935a;--open:#9fabb8;color-scheme:dark}
*{box-sizing:border-box}
html{scroll-padding-top:4.5rem;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
header,main,footer{max-width:1480px;margin:0 auto;padding:0 clamp(12px,2.5vw,36px)}
header{padding-top:clamp(20px,3.5vw,44px)}
h1{font-size:clamp(1.45rem,1.1rem + 1.6vw,2.3rem);line-height:1.2;margin:0 0 .35em;letter-spacing:-.012em;text-wrap:balance}
h2{font-size:1.35rem;margin:2.2em 0 .7em;letter-spacing:-.005em}
h3{font-size:1.08rem;margin:0 0 .3em}
p{margin:.4em 0}
a{color:var(--accent)}
.eyebrow{color:var(--accent);font-weight:600;letter-spacing:.06em;text-transform:uppercase;font-size:.78rem;margin:0 0 .5em}
.lead{color:var(--muted);max-width:75ch;margin:0}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.15rem 1.1rem;padding:0;margin:1.1rem 0 0;font-size:.92rem}
nav a{text-decoration:none}
nav a:hover{text-decoration:underline}
.notes{border-left:4px solid var(--series-3);background:var(--background);padding:.6rem 1rem;margin:1.3rem 0 0;border-radius:0 8px 8px 0;font-size:.93rem}
.notes ul{margin:.2em 0;padding-left:1.2em}
.card{background:var(--background);border:1px solid var(--line);border-radius:12px;padding:clamp(12px,1.6vw,22px)}
.bar{position:sticky;top:0;z-index:5;background:color-mix(in srgb,var(--page) 92%,transparent);backdrop-filter:blur(6px);border-bottom:1px solid var(--line);margin-top:1.4rem}
.bar>div{max-width:1480px;margin:0 auto;padding:.45rem clamp(12px,2.5vw,36px);display:flex;flex-wrap:wrap;align-items:center;gap:.35rem 1.4rem;font-size:.88rem}
.bar .push{margin-left:auto}
fieldset{border:0;margin:0;padding:0;min-width:0;display:flex;flex-wrap:wrap;align-items:center;gap:.3rem .5rem}
legend{float:left;padding:0;color:var(--muted);font-size:.82rem}
.segments{display:inline-flex;flex-wrap:wrap;border:1px solid var(--line);border-radius:8px;overflow:hidden;background:var(--background)}
.segments label{position:relative;display:block;cursor:pointer}
.segments input{position:absolute;opacity:0;inset:0;margin:0;cursor:pointer}
.segments span{display:block;padding:.16rem .62rem;font-size:.84rem;line-height:1.5}
.segments label+label span{border-left:1px solid var(--line)}
.segments input:checked+span{background:var(--accent);color:var(--background)}
.segments input:focus-visible+span{outline:2px solid var(--ink);outline-offset:-2px}
.chips{display:flex;flex-wrap:wrap;gap:.1rem .85rem}
.chips label{display:inline-flex;align-items:center;gap:.35rem;cursor:pointer}
.chips input{margin:0;accent-color:var(--accent)}
.chips label:has(input:not(:checked)) .name{color:var(--muted);text-decoration:line-through}
.swatch{display:inline-block;vertical-align:-3px;line-height:0}
select,button{font:inherit;font-size:.84rem;color:var(--ink);background:var(--background);border:1px solid var(--line);border-radius:8px;padding:.18rem .55rem;max-width:100%}
button{cursor:pointer}
button:hover,select:hover,.segments:hover{border-color:var(--muted)}
:is(a,button,select,summary,.chips input):focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.controls{display:flex;flex-wrap:wrap;gap:.45rem 1.1rem;margin:.7rem 0 .9rem}
.controls label.pick{display:inline-flex;align-items:center;gap:.5rem;color:var(--muted);font-size:.82rem;min-width:0}
.controls:empty{display:none}
.observations{display:grid;gap:16px}
@media (min-width:700px){.observations{grid-template-columns:repeat(auto-fit,minmax(min(100%,330px),1fr))}}
.observations .card{border-top:4px solid var(--tone)}
.observation-true{--tone:var(--good)}.observation-false{--tone:var(--bad)}.observation-null{--tone:var(--open)}
.verdict{color:var(--tone);font-weight:650;font-size:.86rem;display:flex;gap:.4rem;align-items:center;margin:0 0 .35rem}
.verdict svg{flex:none}
.claim{font-weight:600;margin:0 0 .35rem;line-height:1.35}
.finding{font-size:.92rem;margin:0 0 .35rem}
.criterion{font-size:.84rem;color:var(--muted);margin:0}
.observations+.observation-null{margin-top:16px}
.observation-null dl{margin:0;display:grid;gap:.8rem 2rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,420px),1fr))}
.observation-null dt{font-weight:600;line-height:1.35}
.observation-null dd{margin:0;font-size:.92rem}
.observation-null dd .criterion{display:block;margin-top:.25rem}
.observations details{margin-top:.5rem;font-size:.88rem}
.observations details ul{padding-left:1.1em;margin:.3em 0;color:var(--muted)}
.scroll{overflow-x:auto;padding:0}
table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.42rem .62rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
tbody tr:last-child>*{border-bottom:0}
thead th{color:var(--muted);font-weight:600;font-size:.8rem;vertical-align:bottom;line-height:1.3}
thead th small{display:block;font-weight:400}
td small{display:block;color:var(--muted);font-size:.78rem;line-height:1.25}
th[scope=row]{text-align:left;font-weight:600;position:sticky;left:0;background:var(--background)}
thead th:first-child{text-align:left;position:sticky;left:0;background:var(--background)}
td.text{text-align:left}
tr.scale th{background:var(--shade);font-size:.82rem;color:var(--muted);text-align:left;padding:.3rem .8rem}
th.target{text-align:center}
td.never{text-align:center;color:var(--muted)}
td.best{font-weight:700}
td.better{font-weight:600;color:var(--good)}
td.worse{font-weight:600;color:var(--bad)}
tbody tr:hover>*{background:var(--shade)}
.choices{padding-left:1.1em;margin:.4rem 0 1rem;max-width:95ch}
.choices li{margin:.35em 0}
.hint{color:var(--muted);font-size:.86rem;max-width:95ch;margin:.6rem 0 0}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,620px),1fr));grid-auto-flow:dense;gap:18px}
.figures figure{margin:0;min-width:0;display:flex;flex-direction:column}
.figures figure.wide{grid-column:1/-1}
figcaption{color:var(--muted);font-size:.89rem;max-width:95ch;margin:.7rem 0 0}
.drawing{min-height:120px;min-width:0}
.drawing>svg{display:block;max-width:100%;height:auto;overflow:visible}
.drawing text{white-space:pre}
.drawing .empty{color:var(--muted);padding:2rem 0}
.save{display:flex;gap:.4rem;margin-top:auto;padding-top:.8rem}
.save button{font-size:.78rem;color:var(--muted)}
details{margin:.6rem 0}
details.card{padding:.7rem 1.1rem}
summary{cursor:pointer;font-weight:600}
pre{background:var(--shade);border-radius:8px;padding:.8rem 1rem;overflow:auto;font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;max-height:34rem;tab-size:2}
code{font:.92em ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.with-copy{position:relative}
.with-copy button{position:absolute;top:.5rem;right:.5rem}
footer{color:var(--muted);font-size:.86rem;padding-top:2rem;padding-bottom:3rem}
@media (max-width:560px){body{font-size:15px}.bar{position:static}.bar .push{margin-left:0}th,td{padding:.38rem .55rem}}
@media (prefers-reduced-motion:no-preference){html{scroll-behavior:smooth}}
@media print{
:root{font-size:12px}
:root,body{background:#fff;font-size:12px}
header,main,footer{max-width:none;padding:0}
.bar,.controls,.save,nav,.with-copy button{display:none!important}
.card{border-color:#ccc;break-inside:avoid}
.scroll{overflow:visible}
table{font-size:.72rem}th,td{padding:.25rem .3rem}thead th{font-size:.68rem;white-space:normal}td small{font-size:.62rem}
th[scope=row],thead th:first-child{position:static}
.swatch{zoom:.7}
.hint,figcaption{max-width:none}
h2{margin:1.5em 0 .5em}
.observations{grid-template-columns:1fr 1fr;gap:10px}
.observation-null dl{grid-template-columns:1fr 1fr}
.figures{display:block}.figures figure{margin-bottom:.8rem;padding:.7rem 1rem}
.drawing>svg{width:86%;margin:0 auto}
figcaption{margin:.3rem 0 0;font-size:.85rem}
pre{max-height:none;white-space:pre-wrap;font-size:10px}
h2,h3{break-after:avoid}
@page{margin:14mm}
}
`;
