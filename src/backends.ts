import { UserError } from './base/error.ts';
import type { Backend } from './tensor/backend.ts';

/** What can run programs; `auto` is oneDNN where it is installed. Each is loaded when it is asked for. */
export const backendNames = ['onnx', 'onednn'] as const;
export type BackendName = (typeof backendNames)[number];
export const backendChoices = ['auto', ...backendNames] as const;
export type BackendChoice = (typeof backendChoices)[number];

export async function openBackend(name: BackendName): Promise<Backend> {
  // Here rather than at the first program, so that a missing library is said before anything starts.
  if (name === 'onnx') {
    (await import('./onnx/runtime.ts')).loadRuntime();
    return (await import('./onnx/backend.ts')).onnx;
  }
  await (await import('./onednn/library.ts')).loadLibrary();
  return (await import('./onednn/backend.ts')).onednn;
}

/** Of the library behind a backend: another version may give other last bits. */
export async function backendVersion(name: BackendName): Promise<string> {
  if (name === 'onnx') return (await import('./onnx/runtime.ts')).describeRuntime().version;
  return (await (await import('./onednn/library.ts')).loadLibrary()).version;
}

/** The name behind a choice, on this machine. */
export async function chooseBackend(choice: BackendChoice = 'auto'): Promise<BackendName> {
  if (choice !== 'auto') {
    await openBackend(choice);
    return choice;
  }
  // Elsewhere its convolutions are plain loops, and onnxruntime's are not.
  if (process.arch !== 'x64') return 'onnx';
  try {
    await openBackend('onednn');
    return 'onednn';
  } catch (error) {
    // Whoever names a file wants that one, and to know when it is not there.
    if (error instanceof UserError && process.env.DBENCH_ONEDNN === undefined) return 'onnx';
    throw error;
  }
}

/** The backend that a run began with: another would not give the same bits. */
export async function keepBackend(run: string, stored: string, choice: BackendChoice = 'auto'): Promise<BackendName> {
  const begun = backendNames.find((name) => name === stored) ?? 'onnx';
  if (choice !== 'auto' && choice !== begun)
    throw new UserError(`${run} began with the backend ${begun} and can only be resumed with it`, {
      hint: 'leave --backend out, or start a new run',
    });
  return chooseBackend(begun);
}
