import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

/** The report page's program with all it imports, as one script: a page that opens from disk cannot import modules. */
const path = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url));
await build({
  input: path('src/report/page/main.ts'),
  platform: 'browser',
  tsconfig: path('tsconfig.page.json'),
  output: { file: path('dist/report/page.js'), format: 'iife', minify: true },
});
