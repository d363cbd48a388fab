import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../command.ts';

/*
 * The commands of these pages work as they stand: every block marked `sh` is run, in order, in a folder that holds no more than a
 * fresh clone. Blocks marked `sh not-run: why` are not. Training is shortened: `dbench` adds the settings below to `run` and `compare`.
 */
const pages = ['README.md', 'docs/topologies.md', 'docs/tables.md', 'docs/data.md', 'docs/models.md', 'docs/own.md'];
const shorter = ['--set', 'data.train=1280', '--set', 'evaluation.samples=100'];

const root = fileURLToPath(new URL('../../', import.meta.url));
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-documents-'));
  cpSync(join(root, 'experiments'), join(folder, 'experiments'), { recursive: true });
  const main = `"${process.execPath}" "${join(root, 'dist/cli/main.js')}"`;
  mkdirSync(join(folder, 'bin'));
  writeFileSync(
    join(folder, 'bin/dbench'),
    `#!/bin/sh\ncase $1 in run|compare) exec ${main} "$@" ${shorter.join(' ')};; *) exec ${main} "$@";; esac\n`,
    { mode: 0o755 },
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

const blocksOf = (page: string) =>
  [...readFileSync(join(root, page), 'utf8').matchAll(/^```(sh.*)\n([\s\S]*?)^```$/gm)].map(([, mark, text]) => ({
    mark: mark!,
    text: text!.trim(),
  }));

describe.each(pages)('%s', (page) => {
  it.each(blocksOf(page).filter(({ mark }) => mark === 'sh'))('$text', async ({ text }) => {
    const env = { PATH: `${join(folder, 'bin')}:${process.env.PATH}`, HOME: folder, DBENCH_DATA: '' };
    const { status, stdout, stderr } = await run(['bash', '-ec', text], folder, { env });
    expect(status, `${text}\n${stdout}\n${stderr}`).toBe(0);
  });
});

it('a block that is not run says why', () => {
  const marks = pages.flatMap(blocksOf).map(({ mark }) => mark);
  expect(marks.filter((mark) => mark !== 'sh' && !/^sh not-run: .+/.test(mark))).toEqual([]);
});
