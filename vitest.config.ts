import { defineConfig } from 'vitest/config';

/** Unit tests sit beside the code; everything that needs the built package, other programs or long runs is under test/. */
export default defineConfig({
  test: {
    globalSetup: './scripts/vendor.ts',
    reporters: ['default', './scripts/count-reporter.ts'],
    projects: [
      { test: { name: 'unit', include: ['src/**/*.test.ts', 'scripts/**/*.test.ts'], testTimeout: 30_000 } },
      { test: { name: 'suite', include: ['test/**/*.test.ts'], testTimeout: 300_000, hookTimeout: 300_000 } },
    ],
  },
});
