/** Of the live page, over that of reports. */
export const liveStyle = `
.top{position:sticky;top:0;z-index:6;background:var(--background);border-bottom:1px solid var(--line)}
.top>div{max-width:1480px;margin:0 auto;padding:.5rem clamp(12px,2.5vw,36px);display:flex;flex-wrap:wrap;align-items:center;gap:.3rem 1.2rem}
.top nav{display:flex;gap:1rem}
.top nav a{padding:.15rem .1rem;border-bottom:2px solid transparent}
.top nav a[aria-current]{border-color:var(--accent);font-weight:600}
#link{color:var(--bad);font-size:.86rem}
#theme{margin-left:auto}
main{padding-top:1.2rem;padding-bottom:3rem}
.tools{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem .9rem;margin:.6rem 0 1rem;font-size:.9rem}
input[type=search],textarea{font:inherit;color:var(--ink);background:var(--background);border:1px solid var(--line);border-radius:8px;padding:.35rem .6rem;min-width:min(100%,20rem)}
.button,.primary{display:inline-block;text-decoration:none;background:var(--accent);color:var(--background);border:1px solid var(--accent);border-radius:8px;padding:.2rem .8rem}
.primary:disabled,.button.off{opacity:.45;pointer-events:none}
.danger{border-color:var(--bad);color:var(--bad)}
button.sort{border:0;background:none;padding:.1rem .25rem;font:inherit;color:inherit;cursor:pointer}
button.sort:hover{text-decoration:underline}
th small{display:block;font-weight:400;color:var(--muted);font-size:.78rem}
th small.bad{color:var(--bad);white-space:normal;max-width:36ch}
td button+button{margin-left:.35rem}
.bad{color:var(--bad)}
.badge{display:inline-block;font-size:.76rem;font-weight:600;border:1px solid currentColor;border-radius:99px;padding:0 .55rem;vertical-align:middle;color:var(--open)}
.badge.running{color:var(--accent)}.badge.complete,.badge.done{color:var(--good)}.badge.diverged,.badge.failed{color:var(--bad)}
.meter{display:inline-block;width:110px;height:.55rem;border-radius:99px;background:var(--shade);overflow:hidden;vertical-align:middle}
.meter span{display:block;height:100%;background:var(--open)}
.meter.running span{background:var(--accent)}.meter.complete span{background:var(--good)}.meter.diverged span{background:var(--bad)}
.spark{display:block}.spark polyline{fill:none;stroke:var(--accent);stroke-width:1.5}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:10px;margin:1rem 0}
.tile{background:var(--background);border:1px solid var(--line);border-radius:10px;padding:.5rem .8rem}
.tile small{display:block;color:var(--muted);font-size:.78rem}
.tile strong{font-size:1.15rem;font-variant-numeric:tabular-nums}
figure[hidden]{display:none!important}
thead th:nth-child(2){text-align:left}
.network{margin:0 0 18px}
.both{display:grid;grid-template-columns:minmax(0,1fr);gap:1rem}
@media (min-width:900px){.both{grid-template-columns:minmax(0,1.7fr) minmax(260px,1fr)}}
.side h4{margin:.2rem 0 .4rem}
.side ul{padding-left:1.1rem;margin:.3rem 0;font-size:.92rem}
.side li{margin:.3rem 0}
.side .offer{list-style:none;padding:0;max-height:36rem;overflow:auto}
.side .offer small{display:block;color:var(--muted);padding-left:.25rem}
.side .offer button{color:var(--accent);font-weight:600}
.network [data-replica]{cursor:pointer}
.slider input{width:min(40vw,260px)}
.slider output{min-width:7em;color:var(--ink);font-variant-numeric:tabular-nums}
.editor textarea{width:100%;font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;resize:vertical}
.check{white-space:pre-wrap}.check.good{color:var(--good)}.check.bad{color:var(--bad)}
.job pre{max-height:12rem}
.job{margin-bottom:10px}
.chips.card{margin:.6rem 0 1rem;max-height:13rem;overflow:auto;font-size:.86rem}
#question{border:1px solid var(--line);border-radius:12px;background:var(--background);color:var(--ink);max-width:min(92vw,44rem)}
#question::backdrop{background:rgb(0 0 0/.45)}
.observations{margin:1rem 0}
input:focus-visible,textarea:focus-visible{outline:2px solid var(--accent);outline-offset:1px}
@media (max-width:560px){.top>div{padding-top:.35rem;padding-bottom:.35rem}}
`;
