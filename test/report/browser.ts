import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';

const names = ['chromium', 'chromium-browser', 'google-chrome'];

/** A browser on this machine. */
export const executable = (process.env.PATH ?? '')
  .split(delimiter)
  .flatMap((folder) => names.map((name) => join(folder, name)))
  .find((path) => existsSync(path));

/** Skipped where there is no browser, but where nothing may be skipped. */
export const skipped = executable === undefined && process.env.DBENCH_NO_SKIP !== '1';

export function launch(): Promise<Browser> {
  const quiet = ['quic', 'background-networking', 'component-update', 'sync', 'gpu'].map((part) => `--disable-${part}`);
  if (executable === undefined) throw new Error(`none of ${names.join(', ')} is on the path`);
  return chromium.launch({ executablePath: executable, args: ['--no-sandbox', '--no-first-run', ...quiet] });
}

/** A file opened from disk, with all that went wrong and all that was asked of any network. */
export async function open(browser: Browser, file: string, options: Parameters<Browser['newPage']>[0] = {}) {
  const page: Page = await browser.newPage(options);
  const problems: string[] = [];
  const requests: string[] = [];
  page.on('console', (message) => problems.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('dialog', (dialog) => problems.push(`dialog: ${dialog.message()}`));
  page.on('request', (request) => requests.push(request.url()));
  await page.goto(`file://${file}`);
  return { page, problems, requests };
}
