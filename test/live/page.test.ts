import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { small } from '../engine/runs.ts';
import { launch, skipped } from '../report/browser.ts';

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const wait = { timeout: 60_000 };

describe.skipIf(skipped)(`the live page${skipped ? ' (Chromium is not installed)' : ''}`, () => {
  let folder: string;
  let browser: Browser;
  let server: ChildProcess;
  let address: string;
  const started: ChildProcess[] = [];
  const settings = {
    ...small,
    name: 'live',
    epochs: 1500,
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
  const step = (page: Page) => page.locator('#network .drawing').getAttribute('data-step').then(Number);

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'dbench-page-'));
    browser = await launch();
    address = await serve();
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
    for (const child of started) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  it('refuses what is no experiment, starts a run, and shows its network as it changes', async () => {
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
    await page.locator('textarea').fill(JSON.stringify({ ...settings, replicas: 'many' }));
    await expect.poll(() => page.locator('.check').textContent(), wait).toMatch(/replicas/);
    expect(await page.getByRole('button', { name: 'Start', exact: true }).isDisabled()).toBe(true);
    await page.locator('textarea').fill(JSON.stringify(settings));
    await page.getByRole('button', { name: 'Start', exact: true }).click(wait);
    await page.getByRole('link', { name: 'Runs' }).click();
    await page.getByRole('link', { name: 'live', exact: true }).click(wait);

    // The network changes with the round, without a reload.
    await expect.poll(() => step(page), wait).toBeGreaterThanOrEqual(0);
    const first = await step(page);
    const edges = await page.locator('#network .edges').innerHTML();
    await expect.poll(() => step(page), wait).toBeGreaterThan(first);
    await expect.poll(() => page.locator('#network .edges').innerHTML(), wait).not.toBe(edges);
    expect(problems).toEqual([]);
  });
});
