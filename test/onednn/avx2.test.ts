import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { noOneDnn } from '../backends.ts';

it.skipIf(noOneDnn !== undefined)('with AVX2 alone, gradients are within 1e-5 of float64', () => {
  const script = fileURLToPath(new URL('avx2.ts', import.meta.url));
  // The library asks once per process.
  const env = { ...process.env, ONEDNN_MAX_CPU_ISA: 'AVX2' };
  const { vectors, errors } = JSON.parse(
    execFileSync(process.execPath, ['--import', 'tsx', script], { encoding: 'utf8', env }),
  );
  expect(vectors).toBe('avx2');
  expect(Object.keys(errors)).toEqual(['mlp', 'cnn', 'lstm']);
  for (const error of Object.values(errors)) expect(error).toBeLessThan(1e-5);
});
