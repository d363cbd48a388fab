import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/**
 * A worker thread that runs the module `name`, without extension, beside the caller's `import.meta.url`. In the package that is a
 * JavaScript file. In a source run (tests, tsx) it is TypeScript, which a thread does not read by itself, whatever the process does.
 */
export function startThread(name: string, caller: string, options: WorkerOptions = {}): Worker {
  if (!caller.endsWith('.ts')) return new Worker(new URL(`${name}.js`, caller), options);
  // The CommonJS build of tsx does not find its own parts from here.
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx/esm/api')).href.replace(/\.cjs$/, '.mjs');
  const module = new URL(`${name}.ts`, caller).href;
  const start = `import(${JSON.stringify(tsx)}).then((tsx) => (tsx.register(), import(${JSON.stringify(module)})));`;
  return new Worker(start, { ...options, eval: true });
}
