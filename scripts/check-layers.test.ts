import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { upwardImports } from './check-layers.ts';

let src: string;
beforeEach(() => {
  src = mkdtempSync(join(tmpdir(), 'dbench-layers-'));
});
afterEach(() => rmSync(src, { recursive: true }));

function plant(name: string, text: string): void {
  mkdirSync(join(src, name, '..'), { recursive: true });
  writeFileSync(join(src, name), text);
}

it('passes on the sources as they are', () => {
  expect(upwardImports(fileURLToPath(new URL('../src', import.meta.url)))).toEqual([]);
});

it('allows imports of the own folder and of those above', () => {
  plant('topology/ring.ts', "import { a } from '../base/random.ts';\nimport { b } from './kind.ts';\n");
  expect(upwardImports(src)).toEqual([]);
});

it.each([
  ['base/random.ts', "import { ring } from '../topology/ring.ts';\n"],
  ['topology/ring.ts', "export type { Engine } from '../engine/engine.ts';\n"],
  ['topology/ring.ts', "const engine = await import('../engine/engine.ts');\n"],
  ['engine/loop.ts', "import '../index.ts';\n"],
  ['base/random.ts', "import { x } from '../helpers/x.ts';\n"],
  ['helpers/x.ts', 'export const x = 1;\n'],
])('fails on a planted wrong import in %s', (name, text) => {
  plant(name, text);
  expect(upwardImports(src)).toHaveLength(1);
});
