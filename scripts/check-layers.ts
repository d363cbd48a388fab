import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folders of src/ in the order in which data passes through them: each imports only from itself and from those above it. */
export const layers = [
  'base',
  'topology',
  'draw',
  'kernel',
  'data',
  'tensor',
  'onnx',
  'onednn',
  'backends.ts',
  'optim',
  'model',
  'transport',
  'algorithm',
  'experiment',
  'engine',
  'store',
  'metric',
  'run.ts',
  'carry-out.ts',
  'bench',
  'report',
  'cli',
  'index.ts',
] as const;

/** Every import below `src` that points down the list, or into or out of a folder that is not in the list. */
export function upwardImports(src: string): string[] {
  const layerOf = (file: string) => relative(src, file).split(sep)[0]!;
  const rank = (file: string) => (layers as readonly string[]).indexOf(layerOf(file));
  const names = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  return names.flatMap((name) => {
    const file = join(src, name);
    const imports = readFileSync(file, 'utf8').matchAll(/(?:from|import|import\()\s*'(\.[^']*)'/g);
    if (rank(file) < 0) return [`src/${name}: "${layerOf(file)}" is not a layer; add it to scripts/check-layers.ts`];
    return [...imports]
      .map((found) => join(dirname(file), found[1]!))
      .filter((target) => rank(target) < 0 || rank(target) > rank(file))
      .map((target) => `src/${name} imports src/${relative(src, target)}, which is not above it`);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = upwardImports(fileURLToPath(new URL('../src', import.meta.url)));
  for (const line of found) console.error(line);
  console.log(found.length === 0 ? 'layers: every import points up the list' : `layers: ${found.length} wrong`);
  process.exitCode = found.length === 0 ? 0 : 1;
}
