import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const path = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url));

/** The report page's program with all it imports, as one script: a page that opens from disk cannot import modules. */
await build({
  input: path('src/report/page/main.ts'),
  platform: 'browser',
  tsconfig: path('tsconfig.page.json'),
  output: { file: path('dist/report/page.js'), format: 'iife', minify: true },
});

/** A worker's program as one file: every thread of every run loads it, and two hundred files take five times as long as one. */
const worker = path('dist/engine/worker.js');
await build({
  input: path('src/engine/worker.ts'),
  platform: 'node',
  tsconfig: path('tsconfig.json'),
  // They find native libraries beside themselves.
  external: [/^@koromix\//, /^@duckdb\//, 'sharp'],
  output: { file: worker, format: 'esm', codeSplitting: false },
});
