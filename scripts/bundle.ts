import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const path = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url));

/** The programs of the pages with all they import, each as one script: a page that opens from disk cannot import modules. */
for (const page of ['report', 'live'])
  await build({
    input: path(`src/${page}/page/main.ts`),
    platform: 'browser',
    tsconfig: path('tsconfig.page.json'),
    output: { file: path(`dist/${page}/page.js`), format: 'iife', minify: true },
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
