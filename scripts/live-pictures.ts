/**
 * The pictures of docs/live.md, of runs that are there or going on.
 *
 *     npm run build && npx tsx scripts/live-pictures.ts --runs runs --run ID --compare ID,ID,…
 *
 * Each view as a wide picture in light; all four in dark, and at the width of a phone in both, as one picture each.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import sharp, { type Sharp } from 'sharp';
import { launch } from '../test/report/browser.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: 'runs' },
    run: { type: 'string', default: '' },
    compare: { type: 'string', default: '' },
    replica: { type: 'string', default: '' },
  },
});
const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const draft =
  'name: mine\nreplicas: 16\ndata: { kind: mnist, trian: 5120 }\nmodel: { kind: mlp, hidden: [32] }\nbatch: 8\nepochs: 6\nlearningRate: { base: 0.1 }\ntopology: { kind: ex }\n';
const replica = values.replica === '' ? '' : `?replica=${values.replica}`;
const views = {
  runs: 'runs',
  run: `run/${values.run}${replica}`,
  compare: `compare?runs=${values.compare}`,
  start: 'start',
} as const;
type Name = keyof typeof views;

async function serve(): Promise<{ child: ChildProcess; address: string }> {
  const child = spawn(process.execPath, [file('../dist/cli/main.js'), 'serve', '--port', '0', '--runs', values.runs]);
  return {
    child,
    address: await new Promise((done) => child.stdout!.once('data', (text) => done(String(text).trim()))),
  };
}

async function shoot(page: Page, address: string, name: Name): Promise<Buffer> {
  await page.goto(`${new URL(address).origin}/#/${views[name]}`);
  if (name === 'start') {
    // A word with a mistake, and the caret where kinds can stand.
    await page.locator('textarea:not([readonly])').waitFor();
    await page.locator('textarea').fill(draft);
    await page.locator('textarea').focus();
    await page.keyboard.press('Control+End');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
  }
  await page.waitForTimeout(name === 'runs' ? 8000 : 4000);
  return page.screenshot();
}

async function pictures(browser: Browser, address: string, theme: 'light' | 'dark', width: number, height: number) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: theme });
  await page.goto(address);
  const found = {} as Record<Name, Buffer>;
  for (const name of Object.keys(views) as Name[]) found[name] = await shoot(page, address, name);
  await page.close();
  return found;
}

/** Few colours make a small file. */
const save = (picture: Sharp, name: string) =>
  picture.png({ palette: true, colours: 64, effort: 10, compressionLevel: 9 }).toFile(file(`../docs/${name}.png`));

async function beside(
  rows: readonly (readonly Buffer[])[],
  width: number,
  height: number,
  name: string,
): Promise<void> {
  const gap = 12;
  const parts = await Promise.all(
    rows.flatMap((row, y) =>
      row.map(async (picture, x) => ({
        input: await sharp(picture).resize(width, height).toBuffer(),
        left: gap + x * (width + gap),
        top: gap + y * (height + gap),
      })),
    ),
  );
  const size = { width: gap + rows[0]!.length * (width + gap), height: gap + rows.length * (height + gap) };
  await save(sharp({ create: { ...size, channels: 3, background: '#8a949e' } }).composite(parts), name);
}

const browser = await launch();
const { child, address } = await serve();
try {
  const light = await pictures(browser, address, 'light', 1600, 1000);
  for (const name of Object.keys(views) as Name[]) await save(sharp(light[name]), `live-${name}`);
  const dark = await pictures(browser, address, 'dark', 1600, 1000);
  await beside(
    [
      [dark.runs, dark.run],
      [dark.compare, dark.start],
    ],
    640,
    400,
    'live-dark',
  );
  const phone = [
    await pictures(browser, address, 'light', 400, 860),
    await pictures(browser, address, 'dark', 400, 860),
  ];
  await beside(
    phone.map((each) => Object.values(each)),
    240,
    516,
    'live-phone',
  );
} finally {
  await browser.close();
  child.kill();
}
