import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Layer {
  /** Folders it may import from; each stands above it. */
  readonly from: readonly string[];
  /** Packages it may import. */
  readonly npm?: readonly string[];
  /** Runs in browsers too: nothing of Node. */
  readonly pure?: true;
}

/** The folders of src/ in the order in which data passes through them, and what each may import besides itself and Node. */
export const layers: Readonly<Record<string, Layer>> = {
  base: { from: [], npm: ['koffi', 'zod'] },
  topology: { from: ['base'], npm: ['ml-matrix', 'zod'] },
  network: { from: ['base', 'topology'], npm: ['zod'] },
  draw: { from: ['topology'], pure: true },
  kernel: { from: ['base', 'topology'] },
  'data/table': { from: ['base'], npm: ['@duckdb/node-api'] },
  data: { from: ['base', 'kernel'], npm: ['sharp', 'zod'] },
  tensor: { from: ['base'] },
  onnx: { from: ['base', 'tensor'], npm: ['onnxruntime-node', 'protobufjs'] },
  onednn: { from: ['base', 'kernel', 'tensor'] },
  'backends.ts': { from: ['base', 'tensor', 'onnx', 'onednn'] },
  optim: { from: ['base', 'tensor'], npm: ['zod'] },
  model: { from: ['base', 'tensor', 'onnx', 'optim'], npm: ['zod'] },
  transport: { from: ['base', 'topology', 'kernel'] },
  algorithm: { from: ['base', 'topology', 'network'], npm: ['zod'] },
  module: { from: ['base', 'topology', 'algorithm'], npm: ['@swc/wasm-typescript', 'zod'] },
  experiment: {
    from: ['base', 'topology', 'network', 'data', 'optim', 'model', 'algorithm', 'module'],
    npm: ['yaml', 'zod'],
  },
  engine: {
    from: [
      ...['base', 'topology', 'network', 'kernel', 'data', 'tensor', 'backends.ts', 'optim', 'model', 'transport'],
      ...['algorithm', 'experiment'],
    ],
  },
  contract: {
    from: ['base', 'topology', 'network', 'kernel', 'transport', 'algorithm', 'module', 'experiment', 'engine'],
  },
  store: { from: ['base', 'network', 'transport', 'experiment', 'engine'], npm: ['@duckdb/node-api', 'zod'] },
  metric: { from: ['base', 'network', 'experiment', 'engine', 'store'] },
  'run.ts': { from: ['backends.ts', 'transport', 'experiment', 'engine', 'store'] },
  'carry-out.ts': { from: ['transport', 'experiment', 'store', 'run.ts'] },
  bench: {
    from: [
      'base',
      'topology',
      'kernel',
      'tensor',
      'backends.ts',
      'optim',
      'model',
      'transport',
      'algorithm',
      'experiment',
      'engine',
    ],
  },
  report: {
    from: ['base', 'topology', 'network', 'draw', 'algorithm', 'experiment', 'engine', 'store', 'metric'],
    npm: ['linkedom', 'protobufjs', 'sharp', 'yaml'],
  },
  'report/figure': { from: ['base', 'network', 'draw', 'report'], npm: ['@observablehq/plot'], pure: true },
  'report/page': { from: ['report/figure'], pure: true },
  export: {
    from: [...['base', 'data', 'onnx', 'model', 'algorithm', 'experiment', 'engine', 'store', 'metric']],
    npm: ['yaml'],
  },
  live: {
    from: ['base', 'topology', 'algorithm', 'experiment', 'store', 'metric', 'report', 'report/figure'],
    npm: ['yaml', 'zod'],
  },
  'live/page': {
    from: ['base', 'experiment', 'store', 'report', 'report/figure', 'report/page', 'live'],
    pure: true,
  },
  cli: {
    from: [
      ...['base', 'topology', 'draw', 'network', 'data', 'onnx', 'onednn', 'backends.ts', 'optim', 'model'],
      ...['transport', 'algorithm', 'module', 'experiment', 'engine', 'contract', 'store', 'metric', 'run.ts'],
      ...['carry-out.ts', 'bench', 'report', 'export', 'live'],
    ],
    npm: ['commander', 'yaml', 'zod'],
  },
  'index.ts': {
    from: [
      ...['base', 'topology', 'transport', 'algorithm', 'module', 'experiment', 'engine', 'contract', 'store'],
      ...['metric', 'run.ts', 'carry-out.ts', 'report'],
    ],
  },
};

const order = Object.keys(layers);

/** The row of a file: that of its innermost folder which has one. */
function layerOf(path: string): string {
  const parts = path.split(sep);
  const inner = parts.slice(0, 2).join('/');
  return inner in layers ? inner : parts[0]!;
}

/** Whether a layer may import what is no file: a package by its name, or a part of Node. */
function allowsPackage({ npm = [], pure }: Layer, target: string): boolean {
  if (target.startsWith('node:')) return pure === undefined;
  return npm.some((name) => target === name || target.startsWith(`${name}/`));
}

/** Whether one layer may import another. A folder inside another may be used by it; tests may use all that stands above them. */
function allowed(from: string, to: string, isTest: boolean): boolean {
  if (from === to || to.startsWith(`${from}/`)) return true;
  if (layers[from]!.from.includes(to)) return true;
  return isTest && order.includes(to) && order.indexOf(to) < order.indexOf(from);
}

/** What a file of `src` imports, types included: other files as paths below `src`, packages by their names. */
function importsOf(src: string, name: string): string[] {
  const found = readFileSync(join(src, name), 'utf8').matchAll(
    /(?:from|import|import\()\s*'(\.[^']*|(?:@[\w.-]+\/|node:)?[\w-][\w./-]*)'/g,
  );
  return [...found].map(([, target]) =>
    target!.startsWith('.') ? join(dirname(name), target!.replace(/(\.ts)?$/, '.ts')) : target!,
  );
}

/** Every import below `src` that its layer does not allow, every folder that has no row, and every circle of files. */
export function wrongImports(src: string): string[] {
  const names = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const imports = new Map(names.map((name) => [name, importsOf(src, name)]));
  const wrong = names.flatMap((name) => {
    const [layer, isTest] = [layerOf(name), name.endsWith('.test.ts')];
    const row = layers[layer];
    if (row === undefined) return [`src/${name}: "${layer}" is not a layer; add it to scripts/check-layers.ts`];
    const mayImport = (target: string) =>
      target.endsWith('.ts') ? allowed(layer, layerOf(target), isTest) : isTest || allowsPackage(row, target);
    return imports
      .get(name)!
      .filter((target) => !mayImport(target))
      .map((target) => `src/${name} imports ${target}, which "${layer}" may not`);
  });
  return [...wrong, ...circlesOf(imports).map((files) => `imports in a circle: ${files.join(' → ')}`)];
}

/** A circle for every import that leads back to where a walk through all of them came from. */
function circlesOf(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const circles: string[][] = [];
  const done = new Set<string>();
  const walk = (name: string, path: readonly string[]): void => {
    const before = path.indexOf(name);
    if (before >= 0) circles.push([...path.slice(before), name]);
    if (before >= 0 || done.has(name)) return;
    for (const target of imports.get(name) ?? []) walk(target, [...path, name]);
    done.add(name);
  };
  for (const name of imports.keys()) walk(name, []);
  return circles;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = wrongImports(fileURLToPath(new URL('../src', import.meta.url)));
  for (const line of found) console.error(line);
  if (found.length > 0) console.error('what each folder may import is listed in scripts/check-layers.ts');
  console.log(found.length === 0 ? 'layers: every import is allowed' : `layers: ${found.length} wrong`);
  process.exitCode = found.length === 0 ? 0 : 1;
}
