import { expect, it } from 'vitest';
import { undescribed } from './docs/settings.ts';
import { pages } from './docs.ts';

it('what is generated in docs/ is up to date (else: npm run docs)', async () => {
  for (const { path, now, due } of await pages()) expect(now === due, `${path} is stale: npm run docs`).toBe(true);
});

it('every setting says what it is', () => {
  expect(undescribed()).toEqual([]);
});
