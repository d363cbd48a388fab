import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Compiles src/kernel/assembly/ to src/kernel/binary.ts. The result is kept in version control, small as it is: sources, tests and
 * the package load it alike, without a file to be found at run time. A test fails when it is out of date.
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const target = join(root, 'src/kernel/binary.ts');

/** No fused multiply-add (`relaxed-simd`): its rounding differs between machines. */
const options = [
  '-O3',
  '--noAssert',
  '--runtime',
  'stub',
  '--enable',
  'simd,threads',
  '--importMemory',
  '--initialMemory',
  '1',
];

interface Compiler {
  main(args: readonly string[], io: object): Promise<{ error: Error | null; stderr: { toString(): string } }>;
}

async function compile(...extra: string[]): Promise<string> {
  // By a name that the type checker does not follow: its types declare a global console of their own.
  const name: string = 'assemblyscript/asc';
  const { main } = (await import(name)) as Compiler;
  let wasm: Uint8Array | undefined;
  const io = {
    readFile: (file: string, base: string) => {
      const path = resolve(base, file);
      return existsSync(path) ? readFileSync(path, 'utf8') : null;
    },
    writeFile: (_: string, contents: Uint8Array | string) => {
      if (typeof contents !== 'string') wasm = contents;
    },
    listFiles: () => null,
  };
  const args = ['src/kernel/assembly/kernel.ts', '--baseDir', root, ...options, ...extra, '--outFile', 'kernel.wasm'];
  const { error, stderr } = await main(args, io);
  if (error !== null || wasm === undefined) throw new Error(`asc: ${error?.message}\n${stderr.toString()}`);
  return Buffer.from(wasm).toString('base64');
}

/** The text of binary.ts. */
export async function kernelSource(): Promise<string> {
  const shared = await compile('--sharedMemory', '--maximumMemory', '65536');
  return `// Written by scripts/build-kernel.ts (npm run kernel) from assembly/: do not edit.

/** For shared memory. */
export const sharedWasm =
  '${shared}';

/** The same for memory of one worker. */
export const privateWasm =
  '${await compile()}';
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const source = await kernelSource();
  if (source !== readFileSync(target, { encoding: 'utf8', flag: 'a+' })) writeFileSync(target, source);
}
