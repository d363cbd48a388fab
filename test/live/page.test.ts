import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dbench, small } from '../engine/runs.ts';
import { launch, skipped } from '../report/browser.ts';
import { storeRun } from '../report/stored.ts';

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const wait = { timeout: 60_000 };

describe.skipIf(skipped)(`the live page${skipped ? ' (Chromium is not installed)' : ''}`, () => {
  let folder: string;
  let browser: Browser;
  let server: ChildProcess;
  let address: string;
  let sha: string;
  const started: ChildProcess[] = [];
  const settings = {
    ...small,
    name: 'live',
    epochs: 4000,
    probes: { edges: true },
    evaluation: { everyEpochs: 10 },
    checkpoints: { everyEpochs: 50 },
    topology: { kind: 'one-peer-exponential' },
  };

  const serve = async (port = '0') => {
    server = spawn(process.execPath, [main, 'serve', '--port', port], { cwd: folder });
    started.push(server);
    return new Promise<string>((done) => server.stdout!.once('data', (text) => done(String(text).trim())));
  };
  const runId = () => readdirSync(join(folder, 'runs')).find((name) => name.startsWith('live-'))!;
  const step = (page: Page) => page.locator('#network .drawing[data-step]').getAttribute('data-step').then(Number);

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'dbench-page-'));
    writeFileSync(join(folder, 'live.json'), JSON.stringify(settings));
    const whole = await dbench(['run', 'live.json', '--runs', 'whole', '--json'], folder);
    sha = JSON.parse(whole.stdout)[0].paramsSha256;
    browser = await launch();
    address = await serve();
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
    for (const child of started) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  it('follows a run, stops and resumes it to the same bits; tabs, a new server and names with markup do it no harm', async () => {
    const problems: string[] = [];
    const open = async () => {
      const page = await browser.newPage();
      page.on('pageerror', (error) => problems.push(String(error)));
      page.on('dialog', (dialog) => problems.push(dialog.message()));
      await page.goto(address);
      return page;
    };
    const page = await open();
    // Started from the page, as YAML is.
    await page.goto(`${new URL(address).origin}/#/start`);
    await page.locator('textarea').fill('name: x\nreplicas: many\ntopology: ');
    await expect.poll(() => page.locator('.check').textContent(), wait).toMatch(/line 2.*replicas/s);
    expect(await page.getByRole('button', { name: 'Start', exact: true }).isDisabled()).toBe(true);
    // Completed from the schema, by keys alone.
    await page.locator('textarea').press('Control+Space');
    await expect.poll(() => page.locator('.offer').textContent(), wait).toContain('{ kind: ring }');
    await page.locator('.offer button', { hasText: '{ kind: torus }' }).focus();
    await page.keyboard.press('Enter');
    expect(await page.locator('textarea').inputValue()).toBe('name: x\nreplicas: many\ntopology: { kind: torus }');
    await page.locator('textarea').fill(JSON.stringify(settings));
    await page.getByRole('button', { name: 'Start', exact: true }).click(wait);
    await page.getByRole('link', { name: 'Runs' }).click();
    await page.getByRole('link', { name: 'live', exact: true }).click(wait);

    // The network changes with the round, and the curves grow, without a reload.
    await expect.poll(() => step(page), wait).toBeGreaterThanOrEqual(0);
    const first = await step(page);
    const edges = await page.locator('#network .edges').innerHTML();
    await expect.poll(() => step(page), wait).toBeGreaterThan(first);
    await expect.poll(() => page.locator('#network .edges').innerHTML(), wait).not.toBe(edges);
    await page.locator('#learning').scrollIntoViewIfNeeded();
    await expect.poll(() => page.locator('#learning .drawing').innerHTML(), wait).toMatch(/<path/);
    const curve = await page.locator('#learning .drawing').innerHTML();
    await expect.poll(() => page.locator('#learning .drawing').innerHTML(), wait).not.toBe(curve);
    expect(await page.locator('#network .side').textContent()).toMatch(
      /Replica \d+ is furthest behind. Why\?.*distance to the mean/s,
    );
    // From replica to replica by keys; the choice is in the address.
    await page.locator('#network .drawing').first().press('ArrowRight');
    expect(page.url()).toMatch(/replica=\d+/);
    await page.getByRole('button', { name: 'Furthest behind' }).click();
    expect(page.url()).not.toContain('replica=');
    await page.locator('#network select').selectOption('distance');
    expect(page.url()).toContain('colour=distance');

    // Two more tabs; one is closed while it looks on.
    const [second, third] = [await open(), await open()];
    await third.close();
    await expect.poll(() => second.locator('tbody tr').count(), wait).toBe(1);

    // The server is killed and comes back at the same place: the page finds it again by itself.
    server.kill('SIGKILL');
    await expect.poll(() => page.locator('#link').textContent(), wait).toMatch(/No connection/);
    await serve(new URL(address).port);
    await expect.poll(() => page.locator('#link').textContent(), wait).toBe('');

    // What is started meanwhile waits for its turn, and is taken out of the queue.
    await second.goto(`${new URL(address).origin}/#/start`);
    await second.locator('textarea:not([readonly])').fill(JSON.stringify({ ...small, name: 'waits' }));
    await second.getByRole('button', { name: 'Start', exact: true }).click(wait);
    await expect.poll(() => second.locator('#now').textContent(), wait).toBe('1 running, 1 waiting');
    await second.locator('.job', { hasText: 'waits' }).getByRole('button', { name: 'Cancel' }).click();
    await expect
      .poll(() => second.locator('.job', { hasText: 'waits' }).locator('.badge').textContent(), wait)
      .toBe('cancelled');

    // Stopped and resumed from the page.
    await page.getByRole('button', { name: 'Stop' }).click(wait);
    await expect.poll(() => page.locator('h1 .badge').textContent(), wait).toBe('stopped');
    const folderOf = join(folder, 'runs', runId());
    expect(readdirSync(folderOf)).not.toContain('stop');
    expect(readdirSync(folderOf)).not.toContain('live.jsonl');
    await page.getByRole('button', { name: 'Resume' }).click();
    await expect.poll(() => page.locator('h1 .badge').textContent(), wait).toBe('running');
    await expect.poll(() => page.locator('h1 .badge').textContent(), { timeout: 200_000 }).toBe('complete');
    expect(JSON.parse(readFileSync(join(folderOf, 'result.json'), 'utf8')).paramsSha256).toBe(sha);

    expect(readdirSync(join(folder, 'runs')).filter((name) => name.startsWith('waits'))).toEqual([]);

    // A folder's name is shown, not obeyed.
    const nasty = '<img src=x onerror=alert(1)>';
    const { folder: stored } = await storeRun(join(folder, 'runs'), { accuracy: [0.5], settings: { name: 'other' } });
    renameSync(stored, join(folder, 'runs', nasty));
    await page.goto(`${new URL(address).origin}/#/run/${encodeURIComponent(nasty)}`);
    await expect.poll(() => page.locator('.lead').first().textContent(), wait).toContain(nasty);
    expect(await page.locator('img').count()).toBe(0);

    // Compared, and deleted after a question.
    await page.goto(`${new URL(address).origin}/#/compare?runs=${runId()}`);
    await expect.poll(() => page.locator('.observation-null dt').count(), wait).toBeGreaterThan(2);
    expect(await page.locator('.compare-view tbody').textContent()).toMatch(/live.*complete/);
    await page.goto(`${new URL(address).origin}/#/run/${encodeURIComponent(nasty)}`);
    await page.getByRole('button', { name: 'Delete' }).click(wait);
    await page.locator('dialog').getByRole('button', { name: 'Cancel' }).click();
    expect(readdirSync(join(folder, 'runs'))).toContain(nasty);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.locator('dialog').getByRole('button', { name: 'Delete' }).click();
    await expect.poll(() => readdirSync(join(folder, 'runs')).includes(nasty), wait).toBe(false);

    for (const width of [400, 1600]) {
      await page.setViewportSize({ width, height: 900 });
      for (const view of ['runs', `run/${runId()}`, 'compare', 'start']) {
        await page.goto(`${new URL(address).origin}/#/${view}`);
        await page.waitForTimeout(200);
        expect(await page.evaluate('document.documentElement.scrollWidth'), `${view} at ${width}`).toBe(width);
      }
    }
    expect(problems).toEqual([]);
  });
});
