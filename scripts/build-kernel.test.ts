import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { kernelSource } from './build-kernel.ts';

it('src/kernel/binary.ts is what src/kernel/assembly/ compiles to (else: npm run kernel)', async () => {
  expect(readFileSync(new URL('../src/kernel/binary.ts', import.meta.url), 'utf8') === (await kernelSource())).toBe(
    true,
  );
});
