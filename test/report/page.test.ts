import { createHash } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Report } from '../../src/report/report.ts';
import { dbench } from '../engine/runs.ts';
import { launch, open, skipped } from './browser.ts';
import { compared } from './compared.ts';

const { reportHtml } = (await import(
  new URL('../../dist/report/html.js', import.meta.url).href
)) as typeof import('../../src/report/html.ts');

const ids = [
  'learning',
  'accuracy-cost',
  'connections',
  'scaling',
  'connections-accuracy',
  'variance-accuracy',
  'variance',
  'rank',
  'heatmap',
  'distance',
  'network',
  'topologies',
  'phases',
  'progress',
];

/** A figure, without the numbers that count drawings; short, so that a failure can be read. */
async function drawn(page: Page, id: string): Promise<string> {
  const svg = await page.locator(`#${id} .drawing`).innerHTML();
  return createHash('sha256')
    .update(svg.replaceAll(/plot-clip-\d+/g, 'clip'))
    .digest('hex');
}

describe.skipIf(skipped)(`a report in a browser${skipped ? ' (Chromium is not installed)' : ''}`, () => {
  let folder: string;
  let remove: () => void;
  let browser: Browser;
  let report: Report;
  let file: string;

  beforeAll(async () => {
    ({ folder, remove } = await compared());
    file = join(folder, 'report.html');
    const { status, stdout, stderr } = await dbench(['report', '--html', 'report.html', '--json'], folder);
    expect(stderr).toContain('wrote report.html');
    expect(status).toBe(0);
    report = JSON.parse(stdout);
    browser = await launch();
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
    remove?.();
  });

  it('opens from disk, asks for nothing and complains of nothing', async () => {
    const { page, problems, requests } = await open(browser, file);
    expect(await page.locator('h1').textContent()).toBe(report.title);
    expect(requests).toEqual([`file://${file}`]);
    expect(problems).toEqual([]);
    await page.close();
  });

  it('draws every figure with marks at finite places', async () => {
    const { page } = await open(browser, file);
    expect(await page.locator('[data-figure]').evaluateAll((all) => all.map(({ id }) => id))).toEqual(ids);
    for (const id of ids) {
      const svg = await page.locator(`#${id} .drawing`).innerHTML();
      expect(svg, id).not.toMatch(/NaN|Infinity|undefined|null/);
      // Without axes and legend: a legend stands in a part of its own, where nobody can point at anything.
      const panels = `#${id} .drawing svg:has(> rect[pointer-events])`;
      const kinds = ['line', 'dot', 'link', 'area'].map((kind) => `${panels} g[aria-label=${kind}] :is(path, circle)`);
      const marks: number = await page
        .locator(
          [...kinds, `${panels} .cells path`, `${panels} g[aria-label=bar] rect`, `#${id} .edges path`].join(', '),
        )
        .evaluateAll((all) => all.filter((mark) => mark.getBBox().width + mark.getBBox().height > 0).length);
      expect(marks, id).toBeGreaterThanOrEqual(5);
      const box = (await page.locator(`#${id} .drawing > svg`).boundingBox())!;
      expect(box.width, id).toBeGreaterThan(400);
      expect(box.height, id).toBeGreaterThan(150);
    }
    await page.close();
  });

  it('shows every implementation in every figure that has it', async () => {
    const { page } = await open(browser, file);
    for (const id of [
      'learning',
      'accuracy-cost',
      'connections',
      'scaling',
      'connections-accuracy',
      'variance',
      'distance',
      'topologies',
    ])
      for (const name of ['C_complete', 'D_complete', 'D_ring', 'Ada', 'held'])
        expect(await page.locator(`#${id} .drawing`).textContent(), id).toContain(name);
    expect(await page.locator('#connections-accuracy .drawing').textContent()).toMatch(/ρ = [−\d.]+, p [<=] [\d.]+/);
    await page.close();
  });

  it('draws anew with every choice, and by keyboard', async () => {
    const { page, problems } = await open(browser, file);
    let choices = 0;
    for (const id of ids) {
      const panel = page.locator(`#${id} .controls`);
      const radios: string[] = await panel
        .locator('input[type=radio]:not(:checked)')
        .evaluateAll((all) => all.map(({ name, value }) => `input[name="${name}"][value="${value}"]`));
      for (const radio of radios) {
        const before = await drawn(page, id);
        await panel.locator(radio).check();
        expect(await drawn(page, id), radio).not.toBe(before);
        choices++;
      }
      for (const select of await panel.locator('select').all())
        for (const option of (await select.locator('option').all()).slice(1)) {
          const before = await drawn(page, id);
          await select.selectOption((await option.getAttribute('value'))!);
          expect(await drawn(page, id), `${id} ${await option.textContent()}`).not.toBe(before);
          choices++;
        }
    }
    expect(choices).toBeGreaterThan(20);
    await page.locator('#distance input:checked').focus();
    const before = await drawn(page, 'distance');
    await page.keyboard.press('ArrowLeft');
    expect(await drawn(page, 'distance')).not.toBe(before);
    expect(problems).toEqual([]);
    await page.close();
  });

  it('follows the scale and the implementations chosen for all figures', async () => {
    const { page, problems } = await open(browser, file);
    const all = () => Promise.all(ids.map((id) => drawn(page, id)));
    const atTwelve = await all();
    await page.locator('#comparison input').first().check();
    const atEight = await all();
    ids.forEach((id, i) => {
      if (id === 'scaling') expect(atEight[i]).toBe(atTwelve[i]);
      else expect(atEight[i], id).not.toBe(atTwelve[i]);
    });
    // The differences and the costs.
    const tables = await page
      .locator('[data-comparison]:visible')
      .evaluateAll((all) => all.map(({ dataset }) => dataset.comparison));
    expect(tables).toEqual(['0', '0']);
    await page.locator('#shown input[value=D_ring]').uncheck();
    expect(await page.locator('#learning .drawing').textContent()).not.toContain('D_ring');
    // Nothing is left to show, and it says so.
    for (const box of await page.locator('#shown input').all()) await box.uncheck();
    for (const id of ids) expect(await page.locator(`#${id} .drawing`).textContent()).toContain('Nothing to show');
    for (const box of await page.locator('#shown input').all()) await box.check();
    await page.locator('#comparison input').last().check();
    expect(await all()).toEqual(atTwelve);
    expect(problems).toEqual([]);
    await page.close();
  });

  it('is light or dark as the system is, or as the reader wants', async () => {
    const { page } = await open(browser, file, { colorScheme: 'dark' });
    const ground = () =>
      page.locator('body').evaluate((body) => body.ownerDocument.defaultView.getComputedStyle(body).backgroundColor);
    const [darkGround, darkFigure] = [await ground(), await drawn(page, 'learning')];
    await page.locator('#theme').click();
    const [lightGround, lightFigure] = [await ground(), await drawn(page, 'learning')];
    expect([darkGround, lightGround]).toEqual(['rgb(14, 19, 24)', 'rgb(244, 246, 249)']);
    expect(lightFigure).not.toBe(darkFigure);
    await page.emulateMedia({ colorScheme: 'light' });
    // A change is told with the next frame: without one in between there is none.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    await page.emulateMedia({ colorScheme: 'dark' });
    await expect.poll(ground, { timeout: 10_000 }).toBe(darkGround);
    await page.close();
  });

  it('fits every width from 400 to 1600 pixels', async () => {
    for (const width of [400, 760, 1280, 1600]) {
      const { page } = await open(browser, file, { viewport: { width, height: 900 } });
      expect(await page.evaluate('document.documentElement.scrollWidth'), String(width)).toBe(width);
      for (const id of ids) {
        const [svg, place] = [page.locator(`#${id} .drawing > svg`), page.locator(`#${id} .drawing`)];
        expect((await svg.boundingBox())!.width, `${id} at ${width}`).toBeLessThanOrEqual(
          (await place.boundingBox())!.width,
        );
        // No text is cut off at the side.
        const outside = await svg.evaluate((root) => {
          const { left, right } = root.getBoundingClientRect();
          const texts = [...root.querySelectorAll('text')].filter((text) => text.textContent !== '');
          return texts
            .filter(
              (text) => text.getBoundingClientRect().left < left - 2 || text.getBoundingClientRect().right > right + 2,
            )
            .map((text) => text.textContent);
        });
        expect(outside, `${id} at ${width}`).toEqual([]);
      }
      await page.close();
    }
  });

  it('draws anew when the window changes its width', async () => {
    const { page } = await open(browser, file, { viewport: { width: 1280, height: 900 } });
    const width = async () => Number(await page.locator('#learning .drawing > svg').getAttribute('width'));
    const before = await width();
    await page.setViewportSize({ width: 600, height: 900 });
    await expect.poll(width, { timeout: 10_000 }).toBeLessThan(before - 500);
    await page.close();
  });

  it('says what is under the pointer', async () => {
    const { page } = await open(browser, file);
    const drawing = page.locator('#distance .drawing');
    await drawing.scrollIntoViewIfNeeded();
    const { x, y, width, height } = (await drawing.boundingBox())!;
    await page.mouse.move(x + width / 2, y + height / 2);
    await page.mouse.move(x + width / 2 + 1, y + height / 2);
    await expect
      .poll(() => page.locator('#distance [aria-label=tip]').textContent(), { timeout: 10_000 })
      .toMatch(/step \d+.*Ξ/s);
    await page.close();
  });

  it('saves a figure as it is shown', async () => {
    const { page, problems } = await open(browser, file);
    for (const [kind, head] of [
      ['svg', /^<svg [^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/],
      ['png', /^\x89PNG/],
    ] as const) {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.locator(`#variance [data-save=${kind}]`).click(),
      ]);
      const path = join(folder, download.suggestedFilename());
      await download.saveAs(path);
      expect(download.suggestedFilename()).toBe(`variance.${kind}`);
      expect(readFileSync(path, 'latin1')).toMatch(head);
      expect(statSync(path).size).toBeGreaterThan(5000);
    }
    expect(problems).toEqual([]);
    await page.close();
  });

  it('prints without what only a screen can use, on white', async () => {
    const { page } = await open(browser, file, { colorScheme: 'dark' });
    const pdf = await page.pdf({ format: 'A4' });
    expect(pdf.subarray(0, 5).toString()).toBe('%PDF-');
    await page.emulateMedia({ media: 'print' });
    for (const part of ['.bar', '.controls', '.save', 'nav'])
      expect(await page.locator(part).first().isVisible(), part).toBe(false);
    expect(await page.locator('#summary').isVisible()).toBe(true);
    await page.close();
  });

  it('shows names as they are, whatever they hold', async () => {
    const nasty = '</script><script>alert(1)</script><!--<script>&"\'';
    const path = join(folder, 'nasty.html');
    const groups = report.groups.map((group) => ({ ...group, name: group.name === 'D_ring' ? nasty : group.name }));
    writeFileSync(path, reportHtml({ ...report, title: nasty, notes: [nasty], groups, scaling: [] }));
    const { page, problems } = await open(browser, path);
    expect(await page.locator('h1').textContent()).toBe(nasty);
    expect(await page.locator('.notes li').textContent()).toBe(nasty);
    expect(await page.locator('#learning .drawing').textContent()).toContain(nasty);
    expect(problems).toEqual([]);
    await page.close();
  });
});
