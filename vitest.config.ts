import { defineConfig } from 'vitest/config';

const long = { testTimeout: 300_000, hookTimeout: 300_000 };

/** Unit tests sit beside the code; everything that needs the built package, other programs or long runs is under test/. */
export default defineConfig({
  test: {
    globalSetup: './scripts/vendor.ts',
    reporters: ['default', './scripts/count-reporter.ts'],
    // Two files at a time, whatever the machine has: most tests start threads or processes of their own.
    maxWorkers: 2,
    projects: [
      { test: { name: 'unit', include: ['src/**/*.test.ts', 'scripts/**/*.test.ts'], testTimeout: 30_000 } },
      { test: { name: 'suite', include: ['test/**/*.test.ts'], exclude: ['test/mpi/**'], ...long } },
      // After all others and one file at a time: ranks that share a core with anything else wait for each other.
      {
        test: { name: 'ranks', include: ['test/mpi/*.test.ts'], maxWorkers: 1, sequence: { groupOrder: 1 }, ...long },
      },
    ],
  },
});
