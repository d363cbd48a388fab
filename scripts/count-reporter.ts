import type { Reporter, TestModule } from 'vitest/node';

/**
 * Closes a run with `N passed, N failed, N skipped` on a line of its own.
 * With DBENCH_NO_SKIP=1 (CI, where everything can be installed) a skipped test fails the run and is named.
 */
export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const count = { passed: 0, failed: 0, skipped: 0 };
    const skipped: string[] = [];
    for (const module of modules) {
      if (module.state() === 'failed' && module.errors().length > 0) count.failed += 1;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'pending') continue;
        count[state] += 1;
        if (state === 'skipped') skipped.push(`${module.relativeModuleId} > ${test.fullName}`);
      }
    }
    for (const name of skipped) console.log(`skipped: ${name}`);
    if (skipped.length > 0 && process.env.DBENCH_NO_SKIP === '1') {
      console.log('Skipped tests are failures here (DBENCH_NO_SKIP=1).');
      process.exitCode = 1;
    }
    console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`);
  }
}
