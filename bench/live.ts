/**
 * What the live page costs and how fast it is, in headless Chromium on this machine.
 *
 *     npm run build
 *     npx tsx bench/live.ts ratio [--rounds 5] [--epochs 40] [--ways 'alone,page left open']
 *                                                   a run's time with the page open ÷ without, in turns; where the time goes
 *     npx tsx bench/live.ts list [--runs 200]       from opening the page to the last of so many stored runs
 *     npx tsx bench/live.ts redraw                  milliseconds of one redraw, figure by figure, at 64 and 1008 replicas
 *     npx tsx bench/live.ts cost                    share of a run's step time that live.jsonl takes, at 64 and 1008 replicas
 *     npx tsx bench/live.ts memory [--minutes 10]   the server's memory beside a sweep, with a page open; writes live-memory.svg
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { table } from '../src/cli/print.ts';
import { resolve } from '../src/experiment/experiment.ts';
import { run } from '../src/run.ts';
import { LiveLog } from '../src/store/live.ts';
import { launch } from '../test/report/browser.ts';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    runs: { type: 'string', default: '200' },
    minutes: { type: 'string', default: '10' },
    epochs: { type: 'string', default: '40' },
    ways: { type: 'string', default: 'alone,empty tab,page opened,page left open' },
  },
});
const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'dbench-live-'));
const children: ChildProcess[] = [];
const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

const settings = (n: number, epochs: number) => ({
  name: `n${n}`,
  replicas: n,
  data: { kind: 'mnist', train: n * (n > 100 ? 32 : 128), test: 1000 },
  model: { kind: 'mlp', hidden: [n > 100 ? 16 : 64] },
  batch: 8,
  epochs,
  learningRate: { base: 0.05 },
  topology: { kind: n > 100 ? 'torus' : 'exponential' },
  evaluation: { samples: 200, everyEpochs: 2 },
});

function command(...args: string[]): ChildProcess {
  const child = spawn(process.execPath, [main, ...args], { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });
  children.push(child);
  return child;
}

const ended = (child: ChildProcess) => new Promise<void>((done) => child.once('exit', () => done()));

/** Starts an experiment; `seconds` are those its run says that it took. */
async function carryOut(experiment: object, root: string, beside: () => Promise<void> = async () => {}) {
  const file = join(folder, `${root}.json`);
  writeFileSync(file, JSON.stringify(experiment));
  const child = command('run', file, '--runs', root);
  const end = ended(child);
  await beside();
  await end;
  const id = readdirSync(join(folder, root)).find((name) => !name.startsWith('.'))!;
  return { id, seconds: JSON.parse(readFileSync(join(folder, root, id, 'result.json'), 'utf8')).seconds as number };
}

async function serve(root: string): Promise<{ child: ChildProcess; address: string }> {
  const child = command('serve', '--port', '0', '--runs', root);
  return {
    child,
    address: await new Promise((done) => child.stdout!.once('data', (text) => done(String(text).trim()))),
  };
}

async function open(browser: Browser, address: string, hash: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
  await page.goto(address);
  await page.goto(`${new URL(address).origin}/#/${hash}`);
  return page;
}

/** Processor seconds of a process, and of those it started that have ended. */
function spent(pid: number): { readonly own: number; readonly ended: number } {
  // Behind the name, in clock ticks: of the program, and of the system for it.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
    .map(Number);
  return { own: (fields[11]! + fields[12]!) / 100, ended: (fields[13]! + fields[14]!) / 100 };
}

/** A process and all below it. */
function below(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return [
    pid,
    ...text
      .split(' ')
      .filter(Boolean)
      .flatMap((child) => below(Number(child))),
  ];
}

const kinds = ['server', 'commands of the server', 'page', 'painting', 'rest of the browser'] as const;
type Spending = Readonly<Record<(typeof kinds)[number], number>>;

/** Processor seconds until now of all that shows a run. */
function spending(server: number): Spending {
  const found = { server: spent(server).own, 'commands of the server': spent(server).ended, page: 0, painting: 0 };
  let rest = 0;
  for (const pid of below(process.pid)) {
    try {
      const program = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      if (program.includes('--type=renderer')) found.page += spent(pid).own;
      else if (program.includes('--type=gpu-process')) found.painting += spent(pid).own;
      else if (/chrom/.test(program)) rest += spent(pid).own;
    } catch {
      // It has ended meanwhile.
    }
  }
  return { ...found, 'rest of the browser': rest };
}

const less = (a: Spending, b: Spending) =>
  Object.fromEntries(kinds.map((kind) => [kind, a[kind] - b[kind]])) as never as Spending;

/** Seconds of a run, by the clock and of processors. */
async function timed(experiment: object, root: string, beside?: () => Promise<void>) {
  const before = spent(process.pid).ended;
  const { seconds } = await carryOut(experiment, root, beside);
  return { seconds, processor: spent(process.pid).ended - before };
}

interface Took {
  readonly seconds: number;
  /** Of the run itself. */
  readonly processor: number;
  /** What the others took until the page was complete, and afterwards. */
  readonly load: Spending;
  readonly later: Spending;
}

type Way = 'alone' | 'empty tab' | 'page opened' | 'page left open';

/** The page of a run that has begun; looked for rarely, since looking takes time as well. */
async function follow(page: Page, root: string): Promise<void> {
  let id: string | undefined;
  do {
    await sleep(100);
    id = readdirSync(join(folder, root)).find((name) => existsSync(join(folder, root, name, 'live.jsonl')));
  } while (id === undefined);
  await page.evaluate(`location.hash = '#/run/${id}'`);
  const drawn = `document.querySelector('#network .drawing[data-step]') !== null`;
  while (!(await page.evaluate(drawn))) await sleep(250);
}

/**
 * A run beside nothing; beside a tab without anything on it that is opened meanwhile, which is what a browser takes in any case; with its
 * page opened meanwhile; and with a page that was left open, which goes from the list to the new run.
 */
async function ratio(browser: Browser): Promise<string> {
  const experiment = settings(64, Number(options.epochs));
  const newTab = () => browser.newPage({ viewport: { width: 1600, height: 1000 } });
  async function beside(root: string, way: Way): Promise<Took> {
    const { child, address } = await serve(root);
    const page = way === 'page left open' ? await open(browser, address, 'runs') : undefined;
    let opened = page;
    await sleep(1000);
    const start = spending(child.pid!);
    let load = start;
    const took = await timed(experiment, root, async () => {
      if (way === 'empty tab') {
        opened = await newTab();
        await opened.goto('about:blank');
      } else if (way !== 'alone') {
        opened ??= await open(browser, address, 'runs');
        await follow(opened, root);
      }
      load = spending(child.pid!);
    });
    const later = less(spending(child.pid!), load);
    await opened?.close();
    child.kill();
    await ended(child);
    return { ...took, load: less(load, start), later };
  }
  const ways = options.ways.split(',').map((way): [Way, Took[]] => [way as Way, []]);
  for (let round = 0; round < Number(options.rounds); round++) {
    for (const [way, taken] of ways) taken.push(await beside(`${way} ${round}`, way));
    console.error(ways.map(([way, taken]) => `${way} ${taken.at(-1)!.seconds.toFixed(2)} s`).join(', '));
  }
  const middle = (taken: readonly Took[], of: (took: Took) => number) => median(taken.map(of));
  const times = ways.map(([way, taken]) => [
    way,
    middle(taken, ({ seconds }) => seconds).toFixed(2),
    (middle(taken, ({ seconds }) => seconds) / middle(ways[0]![1], ({ seconds }) => seconds)).toFixed(3),
    middle(taken, ({ processor }) => processor).toFixed(2),
  ]);
  const split = ways.flatMap(([way, taken]) =>
    (['load', 'later'] as const).map((part) => [
      `${way}${part === 'load' ? ', until drawn' : ', then'}`,
      ...kinds.map((kind) => middle(taken, (took) => took[part][kind]).toFixed(2)),
    ]),
  );
  return [
    table(['n = 64, mlp', 'seconds', '÷ alone (wanted: at most 1.02)', 'processor seconds of the run'], times),
    table(['processor seconds of others', ...kinds], split),
  ].join('\n\n');
}

async function list(browser: Browser): Promise<string> {
  const { id } = await carryOut({ ...settings(16, 8), name: 'stored' }, 'one');
  const count = Number(options.runs);
  for (let i = 0; i < count; i++) {
    const to = join(folder, 'many', `stored-${String(i).padStart(8, '0')}`);
    cpSync(join(folder, 'one', id), to, { recursive: true });
    const file = join(to, 'experiment.json');
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), seed: i }));
  }
  const times: number[] = [];
  for (let round = 0; round < 5; round++) {
    // A server that has seen nothing yet.
    const { child, address } = await serve('many');
    const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
    await page.goto(`${address}#/runs?seeds=apart`, { waitUntil: 'commit' });
    await page
      .locator('.runs tbody tr')
      .nth(count - 1)
      .waitFor({ timeout: 60_000 });
    times.push(await page.evaluate(() => performance.now()));
    await page
      .locator('.runs .spark')
      .nth(count / 2)
      .waitFor({ timeout: 60_000 });
    await page.close();
    child.kill();
  }
  return `${count} runs are listed ${Math.round(median(times))} ms after the page began to load (wanted: at most 1000)`;
}

async function redraw(browser: Browser): Promise<string> {
  const rows: string[][] = [];
  for (const n of [64, 1008]) {
    const { id } = await carryOut(settings(n, 8), `redraw${n}`);
    const { child, address } = await serve(`redraw${n}`);
    const page = await open(browser, address, `run/${id}`);
    await page.locator('#network .drawing[data-step]').waitFor();
    for (const figure of await page.locator('.figures figure:not([hidden])').all())
      await figure.scrollIntoViewIfNeeded().then(() => page.waitForTimeout(300));
    // All are drawn anew in another theme.
    const found = new Map<string, number[]>();
    for (let i = 0; i < 10; i++) {
      await page.locator('#theme').click();
      await page.waitForTimeout(200);
      for (const place of await page.locator('.drawing[data-ms]').all()) {
        const name = (await place.evaluate((each) => each.closest('[id]')!.id)) as string;
        found.set(name, [...(found.get(name) ?? []), Number(await place.getAttribute('data-ms'))]);
      }
    }
    for (const [name, ms] of found) rows.push([String(n), name, median(ms).toFixed(1), Math.max(...ms).toFixed(1)]);
    await page.close();
    child.kill();
  }
  return table(['replicas', 'figure', 'ms (median of 10)', 'largest'], rows);
}

async function cost(): Promise<string> {
  const rows: string[][] = [];
  for (const n of [64, 1008]) {
    let spentMs = 0;
    const append = LiveLog.prototype.append;
    LiveLog.prototype.append = function (event) {
      const start = performance.now();
      append.call(this, event);
      spentMs += performance.now() - start;
    };
    let stepsMs = 0;
    let steps = 0;
    const [experiment] = resolve(settings(n, n > 100 ? 20 : 60), 'bench');
    for await (const event of run(experiment!, { root: join(folder, `cost${n}`) }))
      if (event.type === 'step') {
        steps += 1;
        stepsMs += Object.values(event.ms).reduce((sum, ms) => sum + ms, 0);
      }
    LiveLog.prototype.append = append;
    rows.push([
      String(n),
      String(steps),
      (stepsMs / steps).toFixed(2),
      (spentMs / steps).toFixed(3),
      `${((100 * spentMs) / stepsMs).toFixed(2)} %`,
    ]);
  }
  return table(['replicas', 'steps', 'ms per step', 'of live.jsonl', 'share (wanted: at most 1 %)'], rows);
}

const residentMB = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;

async function memory(browser: Browser): Promise<string> {
  const { child, address } = await serve('sweep');
  const file = join(folder, 'sweep.json');
  const seeds = Array.from({ length: 400 }, (_, seed) => seed + 1);
  writeFileSync(file, JSON.stringify({ ...settings(64, 12), sweep: { seed: seeds } }));
  const sweep = command('run', file, '--runs', 'sweep');
  const page = await open(browser, address, 'runs');
  const follow = async () => {
    // The page of the run that is going on, then that of the next one, and all of them.
    await page.goto(`${new URL(address).origin}/#/runs?filter=running`).catch(() => {});
    await page
      .locator('.runs .name a')
      .first()
      .click({ timeout: 10_000 })
      .catch(() => {});
  };
  const points: { readonly s: number; readonly mb: number }[] = [];
  const start = performance.now();
  for (let s = 0; s < 60 * Number(options.minutes); s += 10) {
    await follow();
    await sleep(Math.max(0, start + 1000 * (s + 10) - performance.now()));
    points.push({ s: s + 10, mb: residentMB(child.pid!) });
    console.error(`${s + 10} s: ${points.at(-1)!.mb.toFixed(0)} MB, ${readdirSync(join(folder, 'sweep')).length} runs`);
  }
  sweep.kill('SIGINT');
  await ended(sweep);
  writeFileSync('live-memory.svg', drawing(points));
  const half = (from: number, to: number) =>
    median(points.slice(from * points.length, to * points.length).map(({ mb }) => mb));
  return `${half(0.1, 0.5).toFixed(0)} MB in the first half, ${half(0.5, 1).toFixed(0)} MB in the second, at most ${Math.max(...points.map(({ mb }) => mb)).toFixed(0)} MB`;
}

function drawing(points: readonly { readonly s: number; readonly mb: number }[]): string {
  const [width, height, most] = [640, 220, 50 * Math.ceil((1.1 * Math.max(...points.map(({ mb }) => mb))) / 50)];
  const x = (s: number) => 50 + ((width - 70) * s) / points.at(-1)!.s;
  const y = (mb: number) => height - 34 - ((height - 60) * mb) / most;
  const text = (at: number, down: number, said: string, anchor = 'middle') =>
    `<text x="${at}" y="${down}" text-anchor="${anchor}" fill="#56616d">${said}</text>`;
  const ticks = Array.from({ length: most / 50 + 1 }, (_, i) => 50 * i);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12"><title>Memory of dbench serve over the minutes of a sweep</title><rect width="100%" height="100%" fill="#fff"/>
${text(50, 16, 'memory of dbench serve (MB) over the minutes of a sweep', 'start')}
${ticks.map((mb) => `<path d="M50 ${y(mb)}H${width - 20}" stroke="#d9e0e7"/>${text(42, y(mb) + 4, String(mb), 'end')}`).join('\n')}
${Array.from({ length: Math.floor(points.at(-1)!.s / 60) + 1 }, (_, i) => text(x(60 * i), height - 14, String(i))).join('\n')}
<polyline points="${points.map(({ s, mb }) => `${x(s).toFixed(1)},${y(mb).toFixed(1)}`).join(' ')}" fill="none" stroke="#0072b2" stroke-width="2"/></svg>\n`;
}

const parts: Readonly<Record<string, (browser: Browser) => Promise<string>>> = { ratio, list, redraw, cost, memory };
const part = parts[positionals[0] ?? ''];
if (part === undefined) {
  console.error(`say what to measure: ${Object.keys(parts).join(', ')}`);
  process.exit(2);
}
const browser = await launch();
try {
  console.log(await part(browser));
} finally {
  await browser.close();
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}
