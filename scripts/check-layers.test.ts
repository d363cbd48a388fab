import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { layers, wrongImports } from './check-layers.ts';

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
  expect(wrongImports(fileURLToPath(new URL('../src', import.meta.url)))).toEqual([]);
});

it('has an order: a folder imports only from those above it, but for a folder inside another', () => {
  const order = Object.keys(layers);
  for (const [name, { from }] of Object.entries(layers))
    for (const other of from) expect(order.indexOf(other), `${name} from ${other}`).toBeLessThan(order.indexOf(name));
});

it('allows imports of the own folder, of those in its row, of its packages and of Node', () => {
  plant(
    'topology/ring.ts',
    "import { z } from 'zod';\nimport { a } from '../base/random.ts';\nimport { b } from './kind.ts';\nimport 'node:fs';\n",
  );
  plant('topology/ring.test.ts', "import { it } from 'vitest';\n");
  plant('report/html.ts', "import { figures } from './figure/figures.ts';\n");
  expect(wrongImports(src)).toEqual([]);
});

it.each([
  ['base/random.ts', "import { ring } from '../topology/ring.ts';\n"],
  ['topology/ring.ts', "export type { Engine } from '../engine/engine.ts';\n"],
  ['topology/ring.ts', "const engine = await import('../engine/engine.ts');\n"],
  ['data/load.ts', "import { Kernel } from '../tensor/program.ts';\n"],
  ['engine/loop.ts', "import '../index.ts';\n"],
  ['engine/loop.test.ts', "import '../store/runs.ts';\n"],
  ['base/random.ts', "import { x } from '../helpers/x.ts';\n"],
  ['helpers/x.ts', 'export const x = 1;\n'],
  ['engine/loop.ts', "import { DuckDBInstance } from '@duckdb/node-api';\n"],
  ['cli/main.ts', "const ort = await import('onnxruntime-node');\n"],
  ['report/figure/rank.ts', "import { readFileSync } from 'node:fs';\n"],
  ['report/figure/rank.ts', "import { Tables } from '../../store/tables.ts';\n"],
  ['report/page/main.ts', "import { observe } from '../observe.ts';\n"],
])('fails on a planted wrong import in %s: %s', (name, text) => {
  plant(name, text);
  expect(wrongImports(src)).toHaveLength(1);
});

it('fails on files that import each other in a circle, types included', () => {
  plant('base/a.ts', "import { b } from './b.ts';\n");
  plant('base/b.ts', "import type { C } from './c.ts';\n");
  plant('base/c.ts', "export { a } from './a.ts';\n");
  plant('base/d.ts', "import { a } from './a.ts';\nimport { b } from './b.ts';\n");
  expect(wrongImports(src)).toEqual(['imports in a circle: base/a.ts → base/b.ts → base/c.ts → base/a.ts']);
});
