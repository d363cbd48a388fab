/** Of the live page, over that of reports: denser, since it is looked at for long. */
export const liveStyle = `
:root{--edge:#858f99}:root[data-theme=dark]{--edge:#6b7682}
body{font-size:15px;line-height:1.5}
main{max-width:1720px}
.top{position:sticky;top:0;z-index:6;background:var(--background);border-bottom:1px solid var(--line)}
.top>div{max-width:1720px;margin:0 auto;padding:.4rem clamp(12px,2.5vw,36px);display:flex;flex-wrap:wrap;align-items:center;gap:.2rem 1.2rem}
.top nav{display:flex;gap:1rem}
.top nav a{padding:.1rem;border-bottom:2px solid transparent}
.top nav a[aria-current]{border-color:var(--accent);font-weight:600}
#now{color:var(--muted);font-size:.84rem;font-variant-numeric:tabular-nums}
#now.on::before{content:"";display:inline-block;width:.5rem;height:.5rem;border-radius:50%;background:var(--accent);margin-right:.4rem}
#link{color:var(--bad);font-size:.86rem}
#theme{margin-left:auto}
main{padding-top:.9rem;padding-bottom:3rem}
h1{font-size:1.5rem;margin:0}
h2{font-size:1.15rem;margin:1.6em 0 .6em}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.muted{color:var(--muted)}
.tools{display:flex;flex-wrap:wrap;align-items:center;gap:.4rem .8rem;margin:0 0 .8rem;font-size:.88rem}
.tools .hint{margin:0}
.check-label{display:inline-flex;align-items:center;gap:.35rem;cursor:pointer}
input[type=checkbox]{accent-color:var(--accent)}
input[type=search],input[type=number],textarea{font:inherit;font-size:.9rem;color:var(--ink);background:var(--background);border:1px solid var(--edge);border-radius:8px;padding:.22rem .6rem}
select{border-color:var(--edge)}
input[type=search]{width:min(100%,19rem)}
input[type=number]{width:5.2em;font-size:.84rem;padding:.12rem .4rem}
.button,.primary{display:inline-block;text-decoration:none;font-size:.84rem;background:var(--accent);color:var(--background);border:1px solid var(--accent);border-radius:8px;padding:.18rem .8rem}
.primary:disabled{opacity:.45;cursor:default}
button:disabled{opacity:.5;cursor:default}
.danger{border-color:var(--bad);color:var(--bad)}
a.plain{text-decoration:none;color:var(--ink);border:1px solid var(--line);border-radius:8px;padding:.18rem .55rem;font-size:.84rem;background:var(--background)}
a.plain:hover{border-color:var(--muted)}
button:is(.sort,.link,.quiet,.unfold){border:0;background:none;padding:.05rem .2rem;font:inherit;color:inherit}
button.link{color:var(--accent)}
button.sort:hover,button.link:hover{text-decoration:underline}
button.quiet{color:var(--muted)}
.bad{color:var(--bad)}
.states{display:flex;flex-wrap:wrap;gap:.3rem}
.state{border-radius:99px;padding:.08rem .6rem;font-size:.8rem;color:var(--tone);--tone:var(--open)}
.state[aria-pressed=true]{background:var(--tone);color:var(--background);border-color:var(--tone)}
.badge{--tone:var(--open);display:inline-flex;align-items:center;gap:.35rem;font-size:.82rem;font-weight:600;color:var(--tone);white-space:nowrap}
.badge::before{content:"";flex:none;width:.55rem;height:.55rem;border-radius:50%;background:var(--tone)}
.badge:is(.interrupted,.stopped,.waiting,.cancelled)::before{background:none;border:2px solid var(--tone)}
:is(.badge,.state).running{--tone:var(--accent)}:is(.badge,.state):is(.complete,.done){--tone:var(--good)}:is(.badge,.state):is(.diverged,.failed){--tone:var(--bad)}
h1 .badge{font-size:.9rem;margin-left:.5rem;vertical-align:middle}
.meter{display:inline-block;width:84px;height:.42rem;border-radius:99px;background:var(--shade);box-shadow:inset 0 0 0 1px var(--line);overflow:hidden;vertical-align:middle;flex:none}
.meter span{display:block;height:100%;background:var(--open)}
.meter.running span{background:var(--accent)}.meter.complete span{background:var(--good)}.meter.diverged span{background:var(--bad)}
.spark{display:block}.spark polyline{fill:none;stroke:var(--accent);stroke-width:1.5;stroke-linejoin:round}
.lists{display:grid;gap:8px}.lists:not(:empty){margin-bottom:.8rem}
.list{display:flex;flex-wrap:wrap;align-items:center;gap:.3rem 1rem;padding:.5rem .9rem;font-size:.9rem}
.list .meter{width:min(220px,40vw)}
.chosen{margin-left:auto;display:flex;flex-wrap:wrap;align-items:center;gap:.4rem}
.empty-list{text-align:center;padding:3rem 1rem}
.empty-list .hint{max-width:none}
.scroll>table{font-size:.88rem}
.runs th,.runs td{padding:.26rem .55rem;text-align:left;vertical-align:middle}
.runs thead th,.runs thead td{position:sticky;top:0;background:var(--background);border-bottom:1px solid var(--line);font-size:.78rem}
.runs thead th:first-child{position:sticky}
.runs :is(.replicas,.score,.time){text-align:right}
.runs td.started,.runs th.started{text-align:right;color:var(--muted)}
.runs .pick{width:1.6rem;padding-right:0}
.runs .name .line{display:flex;align-items:baseline;gap:.5rem}
.runs .name a{text-decoration:none}.runs .name a:hover{text-decoration:underline}
.runs small{color:var(--muted);font-size:.78rem;font-weight:400}
.runs td small{display:inline;margin:0 .4rem}
.runs small.bad{color:var(--bad);max-width:30ch;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.runs .task{color:var(--muted)}
.runs .status{min-width:9rem}
.line{display:inline-flex;align-items:center;gap:.5rem}
.runs .curve{width:104px;padding-top:0;padding-bottom:0}
.runs .act{text-align:right;width:5rem}
.runs .member>.name{padding-left:1.9rem}
.runs .member>.name,.runs .member>td{background:color-mix(in srgb,var(--shade) 45%,var(--background))}
button.unfold{color:var(--muted);font-size:.78rem;font-weight:400;line-height:1.2}button.unfold:hover{color:var(--ink)}
.head .title{display:flex;flex-wrap:wrap;align-items:center;justify-content:space-between;gap:.2rem 1rem}
.head .title .tools{margin:0}
.head .lead{font-size:.88rem;max-width:none;margin:.15rem 0 .4rem}
.progress{display:flex;flex-wrap:wrap;align-items:center;gap:.2rem .8rem;font-size:.86rem;font-variant-numeric:tabular-nums}
.progress .meter{width:min(360px,60vw);height:.5rem}
.lost{color:var(--bad);margin:.5rem 0;padding-left:1.2rem;font-size:.9rem}
.faults{margin:.3rem 0 0;font-size:.86rem;color:var(--muted)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(136px,1fr));gap:8px;margin:.8rem 0}
.tile{background:var(--background);border:1px solid var(--line);border-radius:10px;padding:.4rem .7rem .3rem;min-width:0;display:flex;flex-direction:column}
.tile small{display:block;color:var(--muted);font-size:.76rem;line-height:1.35}
.tile strong{font-size:1.12rem;font-variant-numeric:tabular-nums;line-height:1.35;white-space:nowrap}
.tile .remark{min-height:1.35em}
.tile .spark{width:100%;margin-top:auto}
figure[hidden],.both[hidden]{display:none!important}
.network{margin:0 0 14px}
.figures{gap:14px;grid-template-columns:repeat(auto-fill,minmax(min(100%,560px),1fr))}
.figures .drawing:not([data-ms]){min-height:380px}
details.caption{margin:.5rem 0 0;font-size:.86rem}
details.caption>summary{font-weight:400;color:var(--muted);width:fit-content}
.both{display:grid;grid-template-columns:minmax(0,1fr);gap:1rem 2rem}
@media (min-width:900px){.both{grid-template-columns:minmax(0,1.35fr) minmax(320px,1fr)}}
.side h4{margin:.1rem 0 .4rem;font-size:1rem}
.side h5{margin:.6rem 0 0;font-size:.82rem;font-weight:400;color:var(--muted)}
.side table{font-size:.86rem;margin:.4rem 0}
.side :is(th,td){padding:.18rem .4rem}
.side th:first-child{padding-left:0}
.side tbody tr:hover>*{background:none}
.side th[scope=row]{font-weight:400;color:var(--muted);white-space:normal;position:static}
.why{margin:.2rem 0 .6rem;padding-left:1.1rem;font-size:.94rem}
.why li{margin:.25rem 0}
.hears{font-size:.88rem;margin:.3rem 0 .6rem}
.drawing.small{min-height:0}
.network [data-replica]{cursor:pointer}
.drawing[tabindex]:focus-visible{outline:2px solid var(--accent);outline-offset:4px;border-radius:8px}
.slider input{width:min(38vw,240px);accent-color:var(--accent)}
.slider output{min-width:11em;color:var(--ink);font-variant-numeric:tabular-nums}
.settings{margin-top:14px}
.picker{margin-bottom:.8rem}
.picked{display:flex;flex-wrap:wrap;gap:.35rem;margin-bottom:.5rem}
.chip{display:inline-flex;align-items:center;gap:.4rem;background:var(--background);border:1px solid var(--line);border-radius:99px;padding:.08rem .35rem .08rem .75rem;font-size:.86rem}
.chip small{color:var(--muted)}
.picker details.card{margin:0;padding:.4rem .9rem}
.picker summary{font-size:.9rem}
.picker input[type=search]{margin:.5rem 0}
.pick-list{max-height:15rem;overflow:auto;display:grid;gap:.1rem;font-size:.88rem;padding-bottom:.3rem}
.pick-list label{display:flex;flex-wrap:wrap;align-items:center;gap:.1rem .6rem;cursor:pointer;padding:.08rem .2rem;border-radius:6px}
.pick-list label:hover{background:var(--shade)}
.compare-view .card.scroll{margin:.6rem 0}
.compare-view :is(td,th).status{text-align:left}.compare-view .line{font-size:.86rem}
.compare-view .figures{margin-top:14px}
.seeds a+a{margin-left:.5rem}
.compare-view .observation-null{margin-top:14px}
.start-view .pick{display:inline-flex;gap:.5rem;align-items:center}
.editor{display:flex;flex-direction:column;min-width:0}
.editor textarea{width:100%;height:max(20rem,calc(100vh - 23rem));min-height:12rem;font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;resize:vertical;tab-size:2;padding:.6rem .8rem;white-space:pre;overflow:auto}
.check{font-size:.88rem;margin-top:.5rem;min-height:3.2em;white-space:pre-wrap}
.check p{margin:.15em 0}.check.good{color:var(--good)}.check.bad{color:var(--bad)}
.check .link{padding:0;text-decoration:underline;white-space:nowrap}
.start-view .side{padding:.7rem 1rem;display:flex;flex-direction:column;min-height:0}
.side .offer{list-style:none;padding:0;margin:0;overflow:auto;flex:1;max-height:max(18rem,calc(100vh - 27rem));font-size:.88rem}
.side .offer li{margin:.15rem 0}
.side .offer small{display:block;color:var(--muted);padding-left:.2rem;line-height:1.35}
.side .offer button{font-weight:600}
.side .offer button:focus-visible{outline-offset:-1px}
kbd{font:.85em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;border:1px solid var(--line);border-radius:4px;padding:0 .3em}
.job{margin-bottom:8px;padding:.5rem .9rem}.job .tools{margin:0}.job pre{max-height:9rem;margin:.5rem 0 .2rem;font-size:12px}
#question{border:1px solid var(--line);border-radius:12px;background:var(--background);color:var(--ink);max-width:min(92vw,44rem)}
#question::backdrop{background:rgb(0 0 0/.45)}
#question .tools{margin:1rem 0 0;justify-content:flex-end}
#question pre{max-height:40vh}
.observations{margin:.6rem 0}
:is(input,textarea,summary):focus-visible{outline:2px solid var(--accent);outline-offset:1px}
@media (max-width:1150px){.runs .task{display:none}}
@media (max-width:900px){.runs .started{display:none}.chosen{margin-left:0}}
@media (max-width:700px){
.top>div{gap:.2rem .7rem}.top nav{gap:.6rem}#now{font-size:.76rem;order:1}#link{order:2}
body{font-size:14px}
.runs thead{display:none}
.runs,.runs tbody{display:block}
.runs tr{display:grid;grid-template-columns:auto minmax(0,1fr) auto;grid-template-areas:"pick name score" "pick status curve" "pick what act";gap:0 .6rem;padding:.45rem .7rem;border-bottom:1px solid var(--line)}
.runs tr>*{border:0;padding:0;background:none!important}
.runs .pick{grid-area:pick;padding-top:.15rem}.runs .name{grid-area:name;white-space:normal}.runs .score{grid-area:score}.runs .status{grid-area:status;min-width:0}.runs .curve{grid-area:curve;width:auto;justify-self:end}.runs .topology{grid-area:what;color:var(--muted);font-size:.82rem}.runs .act{grid-area:act;width:auto}
.runs :is(.task,.replicas,.time,.score small:not(.unit)){display:none}
.runs .status .meter{width:56px}
.runs .name .line{flex-wrap:wrap;gap:0 .4rem}
.runs .member{padding-left:1.6rem}.runs .member>.name{padding-left:0}
.tiles{grid-template-columns:repeat(auto-fit,minmax(104px,1fr));gap:6px}
.tile{padding:.3rem .5rem}.tile strong{font-size:1rem}
.editor textarea{height:22rem}
.side table{font-size:.82rem}.side :is(th,td){padding:.15rem .25rem}
.slider input{width:min(46vw,240px)}
}
`;
