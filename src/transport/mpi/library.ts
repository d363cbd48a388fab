import { UserError } from '../../base/error.ts';
import { type Koffi, loadKoffi } from '../../base/ffi.ts';
import { type Abi, mpich, openMpi, standard } from './abi.ts';
import { type Launcher, launcherOf } from './launcher.ts';
import { type FunctionName, signatures, type UlfmFunctionName, ulfmSignatures } from './signatures.ts';

/** An MPI library that is loaded: its functions throw MpiError if they fail. */
export interface MpiLibrary {
  readonly path: string;
  /** First line of what it says about itself. */
  readonly version: string;
  readonly abi: Abi;
  readonly mpi: Functions<FunctionName>;
  /** What it takes to continue without processes that are lost, if the library has it. */
  readonly ulfm: Functions<UlfmFunctionName> | undefined;
}

type Functions<Name extends string> = Readonly<Record<Name, (...args: unknown[]) => void>>;

export class MpiError extends Error {
  override readonly name = 'MpiError';
}

const families = {
  'Open MPI': ['libmpi.so.40', 'libmpi.so.80', 'libmpi.40.dylib'],
  MPICH: ['libmpich.so.12', 'libmpi.so.12', 'libmpi.12.dylib', 'libmpich.so.0'],
  'MPI-5': ['libmpi_abi.so.1', 'libmpi_abi.so.0'],
};

/** Names to try: the one that DBENCH_MPI gives, those that fit the launcher, or all. */
export function candidates(env: NodeJS.ProcessEnv, launcher: Launcher | undefined): string[] {
  if (env.DBENCH_MPI) return [env.DBENCH_MPI];
  const { 'Open MPI': open, MPICH, 'MPI-5': abi } = families;
  if (launcher?.family === 'Open MPI') return [...open, ...abi];
  if (launcher?.family === 'MPICH') return [...MPICH, ...abi];
  // What srun speaks with --mpi=pmi2 is MPICH's; Open MPI understands it only if it was built for that.
  return env.SLURM_MPI_TYPE === 'pmi2' ? [...MPICH, ...open, ...abi] : [...open, ...MPICH, ...abi];
}

const packages =
  'on Debian: apt-get install openmpi-bin, or mpich; for another place set DBENCH_MPI to the library file';

/**
 * UCX checks its memory hooks when it is loaded by moving the end of the heap forth and back. Other threads allocate meanwhile, and
 * some percent of all processes crash later. This must be in the environment before: only the main thread can put it there.
 */
function tameUcx(): void {
  process.env.UCX_MEM_EVENTS ??= 'n';
}

export async function loadLibrary(names = candidates(process.env, launcherOf(process.env))): Promise<MpiLibrary> {
  const koffi = loadKoffi();
  tameUcx();
  for (const path of names) {
    const library = tryLoad(koffi, path);
    if (library !== undefined) return library;
  }
  throw new UserError(`no MPI library was found (looked for ${names.join(', ')})`, { hint: packages });
}

function tryLoad(koffi: Koffi, path: string): MpiLibrary | undefined {
  let handle: ReturnType<Koffi['load']>;
  try {
    // Global: MPI libraries load parts of themselves that look for their symbols.
    handle = koffi.load(path, { global: true, lazy: true });
  } catch {
    return undefined;
  }
  const version = versionOf(handle);
  const abi = abiOf(handle, version);
  if (abi === undefined)
    throw new UserError(`${path} is an MPI library that DBench does not know: ${version}`, {
      hint: 'known are Open MPI, MPICH and its relatives, and libraries with the ABI of MPI 5',
    });
  const types = { p: 'void *', i: 'int', h: abi.handle };
  const raw = (name: string, signature: string) =>
    handle.func(
      name,
      'int',
      [...signature].map((letter) => types[letter as keyof typeof types]),
    );
  const [text, length] = [Buffer.alloc(8192), new Int32Array(1)];
  const errorString = raw('MPI_Error_string', signatures.MPI_Error_string);
  const checked = (name: string, signature: string) => {
    const call = raw(name, signature);
    return (...args: unknown[]) => {
      const code = call(...args) as number;
      if (code === 0) return;
      errorString(code, text, length);
      throw new MpiError(`${name}: ${text.toString('latin1', 0, length[0]).split('\n')[0]}`);
    };
  };
  const functions = <Name extends string>(table: Readonly<Record<Name, string>>) =>
    Object.fromEntries(
      Object.entries<string>(table).map(([name, signature]) => [name, checked(name, signature)]),
    ) as Functions<Name>;
  return {
    path,
    version,
    abi,
    mpi: functions(signatures),
    ulfm: hasUlfm(handle, abi) ? functions(ulfmSignatures) : undefined,
  };
}

/** MPICH has the names too, but its launcher ends the job. */
function hasUlfm(handle: ReturnType<Koffi['load']>, { name }: Abi): boolean {
  try {
    return name === 'Open MPI' && handle.symbol('MPIX_Comm_iagree', 'void *') !== null;
  } catch {
    return false;
  }
}

function versionOf(handle: ReturnType<Koffi['load']>): string {
  const [text, length] = [Buffer.alloc(16384), new Int32Array(1)];
  handle.func('MPI_Get_library_version', 'int', ['void *', 'void *'])(text, length);
  const [first = '', second = ''] = text.toString('latin1', 0, length[0]).replaceAll('\0', '').split('\n');
  return /MPICH Version/.test(first) ? `MPICH ${first.split(':')[1]!.trim()}` : first.split(',')[0]!.trim() || second;
}

/** The standard's ABI if the library has it: a library of the other kind answers −1 or lacks the question. */
function abiOf(handle: ReturnType<Koffi['load']>, version: string): Abi | undefined {
  try {
    const [major, minor] = [new Int32Array(1), new Int32Array(1)];
    handle.func('MPI_Abi_get_version', 'int', ['void *', 'void *'])(major, minor);
    if (major[0]! > 0) return standard;
  } catch {}
  if (/Open MPI/i.test(version)) return openMpi((name) => handle.symbol(name, 'void *') as bigint);
  return /MPICH|Intel\(R\) MPI|MVAPICH/i.test(version) ? mpich : undefined;
}
