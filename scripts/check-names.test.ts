import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sharedNames } from './check-names.ts';

it('finds types that several files export under one name, and nothing else', () => {
  const src = mkdtempSync(join(tmpdir(), 'dbench-names-'));
  try {
    mkdirSync(join(src, 'b'));
    writeFileSync(join(src, 'a.ts'), 'export interface Point {}\nexport type Line = 1;\nexport const place = 1;\n');
    writeFileSync(join(src, 'b', 'c.ts'), 'export class Point {}\ntype Line = 2;\nexport const place = 2;\n');
    expect(sharedNames(src)).toEqual(['Point: src/a.ts, src/b/c.ts']);
  } finally {
    rmSync(src, { recursive: true });
  }
});
