import { UserError } from './base/error.ts';
import type { Backend } from './tensor/backend.ts';

/** What can run programs. Each is loaded when it is asked for. */
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

type Vectors = 'avx512' | 'avx2';
interface Ratios {
  readonly onednn: number;
  readonly onnx: number;
}

/**
 * PyTorch's time for a training step ÷ ours, by the vectors that oneDNN uses and by kind of model: the table of docs/performance.md. `auto`
 * takes the larger. Bits depend on the choice, so it is never timed anew.
 */
const measured: Readonly<Record<Vectors, Readonly<Record<string, Ratios>>>> = {
  avx512: {
    mlp: { onednn: 1.62, onnx: 1.13 },
    cnn: { onednn: 2.78, onnx: 1.13 },
    lstm: { onednn: 1.6, onnx: 1.21 },
    gpt: { onednn: 1.75, onnx: 1.34 },
    resnet20: { onednn: 1.49, onnx: 0.93 },
    densenet100: { onednn: 2.02, onnx: 1.29 },
  },
  avx2: {
    mlp: { onednn: 1.34, onnx: 1.05 },
    cnn: { onednn: 2.17, onnx: 1.51 },
    lstm: { onednn: 1.32, onnx: 1.13 },
    gpt: { onednn: 1.46, onnx: 1.22 },
    resnet20: { onednn: 1.38, onnx: 1.11 },
    densenet100: { onednn: 1.85, onnx: 1.35 },
  },
};

/** Kinds that were not measured, and what they are most like. */
const alike: Readonly<Record<string, string>> = {
  resnet18: 'resnet20',
  resnet32: 'resnet20',
  resnet44: 'resnet20',
  resnet50: 'resnet20',
  resnet56: 'resnet20',
  vit: 'gpt',
};

/** What was measured for a kind of model, or for one like it; undefined for files of users. */
export const ratiosOf = (vectors: Vectors, kind: string): Ratios | undefined => measured[vectors][alike[kind] ?? kind];

/** The faster of both; oneDNN, which is ahead for most, where nothing was measured. */
export function fasterBackend(ratios: Ratios | undefined): BackendName {
  return ratios !== undefined && ratios.onnx > ratios.onednn ? 'onnx' : 'onednn';
}

/** The name behind a choice, on this machine, for a kind of model. */
export async function chooseBackend(choice: BackendChoice = 'auto', kind = ''): Promise<BackendName> {
  if (choice !== 'auto') {
    await openBackend(choice);
    return choice;
  }
  // Elsewhere its convolutions are plain loops, and onnxruntime's are not.
  if (process.arch !== 'x64') return 'onnx';
  try {
    await openBackend('onednn');
    const { vectors } = await (await import('./onednn/library.ts')).loadLibrary();
    return fasterBackend(ratiosOf(vectors, kind));
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
