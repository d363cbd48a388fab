import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { availableParallelism, cpus, freemem, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { type BackendName, chooseBackend } from '../backends.ts';
import { UserError } from '../base/error.ts';
import { dataFolder } from '../data/folder.ts';
import { modelKinds } from '../model/models.ts';
import { jsonOption } from './options.ts';
import { bytes, fields } from './print.ts';

/** First line that a program prints, or null if it is not installed. */
function says(program: string, ...args: string[]): string | null {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], timeout: 5000 })
      .split('\n')[0]!
      .trim();
  } catch {
    return null;
  }
}

/** The bundled onnxruntime, or why it does not load here. */
async function onnxruntime() {
  try {
    return (await import('../onnx/runtime.ts')).describeRuntime();
  } catch (error) {
    return { error: (error as Error).message.split('\n')[0]! };
  }
}

/** The MPI library that would be used, or why there is none. Loaded in a process of its own: a library may not like to be. */
function mpiLibrary(): { version: string; path: string; abi: string } | { error: string } {
  const module = new URL('../transport/mpi/describe.js', import.meta.url);
  try {
    const text = execFileSync(process.execPath, [fileURLToPath(module)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 20_000,
    });
    return JSON.parse(text);
  } catch {
    return { error: 'it ends the process when it is loaded' };
  }
}

/** oneDNN, or why it does not load here. */
async function onednn() {
  try {
    const { version, path, vectors } = await (await import('../onednn/library.ts')).loadLibrary();
    return { version, path, vectors };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { error: error.message, hint: error.hint };
  }
}

/** Which kinds of model `auto` gives to which backend. */
async function automatic(): Promise<Readonly<Partial<Record<BackendName, readonly string[]>>>> {
  const chosen = new Map<BackendName, string[]>();
  for (const kind of modelKinds) {
    const backend = await chooseBackend('auto', kind);
    chosen.set(backend, [...(chosen.get(backend) ?? []), kind]);
  }
  return Object.fromEntries(chosen);
}

async function examine() {
  const folder = dataFolder();
  const dnn = await onednn();
  return {
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    freeMemoryBytes: freemem(),
    backend: 'error' in dnn ? 'onnx' : await chooseBackend(),
    modelsByBackend: 'error' in dnn ? { onnx: modelKinds } : await automatic(),
    onnxruntime: await onnxruntime(),
    onednn: dnn,
    mpi: { ...mpiLibrary(), launcher: says('mpirun', '--version') },
    data: { folder, sets: existsSync(folder) ? readdirSync(folder).filter((name) => !name.startsWith('.')) : [] },
  };
}

export function command(): Command {
  return new Command('doctor').addOption(jsonOption()).action(async (options: { json?: true }) => {
    const found = await examine();
    if (options.json) return console.log(JSON.stringify(found, null, 2));
    const { onnxruntime: ort, onednn: dnn, data, mpi } = found;
    console.log(
      fields([
        ['node', `${found.node} on ${found.platform}`],
        ['processor', `${found.cpu}, ${found.cores} core${found.cores === 1 ? '' : 's'}`],
        ['memory', `${bytes(found.memoryBytes)}, ${bytes(found.freeMemoryBytes)} free`],
        [
          'onnxruntime',
          'error' in ort ? `does not load: ${ort.error}` : `${ort.version}, providers: ${ort.providers.join(', ')}`,
        ],
        [
          'oneDNN',
          'error' in dnn
            ? `${dnn.error} (optional, faster on x86; ${dnn.hint})`
            : `${dnn.version} (${dnn.path}, ${dnn.vectors})`,
        ],
        [
          'backend',
          `${Object.entries(found.modelsByBackend)
            .map(([name, kinds]) => (kinds.length === modelKinds.length ? name : `${name} for ${kinds.join(', ')}`))
            .join('; ')} unless --backend says otherwise`,
        ],
        [
          'MPI',
          'error' in mpi
            ? `${mpi.error} (optional; on Debian: apt-get install openmpi-bin, or mpich)`
            : `${mpi.version} (${mpi.path}, ABI of ${mpi.abi})`,
        ],
        ['mpirun', mpi.launcher ?? 'not found'],
        [
          'data sets',
          `mnist and synthetic built in; in ${data.folder}: ${data.sets.length === 0 ? 'none yet' : data.sets.join(', ')}`,
        ],
      ]),
    );
  });
}
