import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Types that are exported under one name by several files below `src`: each concept has its own word. */
export function sharedNames(src: string): string[] {
  const files = new Map<string, string[]>();
  const names = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  for (const name of names.sort())
    for (const [, type] of readFileSync(join(src, name), 'utf8').matchAll(/^export (?:interface|type|class) (\w+)/gm))
      files.set(type!, [...(files.get(type!) ?? []), `src/${name}`]);
  return [...files].flatMap(([type, where]) => (where.length > 1 ? [`${type}: ${where.join(', ')}`] : []));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = sharedNames(fileURLToPath(new URL('../src', import.meta.url)));
  for (const line of found) console.error(`two exported types have one name: ${line}`);
  console.log(found.length === 0 ? 'names: every exported type has its own' : `names: ${found.length} shared`);
  process.exitCode = found.length === 0 ? 0 : 1;
}
