import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { UserError } from '../base/error.ts';
import type { Numbers } from '../tensor/backend.ts';
import type { DType } from '../tensor/program.ts';

/**
 * onnxruntime's library for Node, without its npm package: that one carries the GPU files of every platform, and its install
 * script fetches more from outside the registry, so that installing fails where nothing else is reached. `scripts/vendor.ts` puts
 * the files that compute on CPUs into `vendor/`, and they are part of our package.
 */
export const runtimeVersion = '1.30.0';
export const runtimePlatforms = ['linux-x64', 'linux-arm64', 'darwin-arm64', 'win32-x64', 'win32-arm64'] as const;

/** The same place for sources and for the built package. */
export const runtimeFolder = fileURLToPath(new URL('../../vendor/onnxruntime/', import.meta.url));

/** What the library reads, and what it makes of outputs that no memory was given for. */
export class RuntimeTensor {
  readonly location = 'cpu';
  readonly type: DType;
  readonly data: Numbers;
  readonly dims: readonly number[];

  constructor(type: DType, data: Numbers, dims: readonly number[]) {
    this.type = type;
    this.data = data;
    this.dims = dims;
  }
}

export type RuntimeTensors = Readonly<Record<string, RuntimeTensor>>;
type Outputs = Readonly<Record<string, RuntimeTensor | null>>;

interface NativeSession {
  readonly inputMetadata: readonly { readonly name: string }[];
  readonly outputMetadata: readonly { readonly name: string }[];
  loadModel(buffer: ArrayBufferLike, byteOffset: number, byteLength: number, options: object): void;
  run(inputs: RuntimeTensors, outputs: Outputs, options: object): RuntimeTensors;
  dispose(): void;
}

interface Library {
  readonly InferenceSession: new () => NativeSession;
  initOrtOnce(logLevel: number, tensor: typeof RuntimeTensor, mainThread: boolean): void;
  listSupportedBackends(): readonly { readonly name: string; readonly bundled: boolean }[];
}

let library: Library | undefined;

/** Loads the library, once per thread; a UserError says why it cannot. */
export function loadRuntime(): Library {
  if (library !== undefined) return library;
  const platform = `${process.platform}-${process.arch}`;
  if (!(runtimePlatforms as readonly string[]).includes(platform))
    throw new UserError(`onnxruntime is not made for ${platform}: only for ${runtimePlatforms.join(', ')}`, {
      hint: 'install oneDNN, the other backend: docs/backends.md',
    });
  try {
    const loaded: Library = createRequire(import.meta.url)(`${runtimeFolder}${platform}/onnxruntime_binding.node`);
    const warnings = 2;
    loaded.initOrtOnce(warnings, RuntimeTensor, isMainThread);
    library = loaded;
    return loaded;
  } catch (cause) {
    throw new UserError(`onnxruntime does not load: ${(cause as Error).message.split('\n')[0]}`, {
      hint: 'in a checkout: npm run build; otherwise install DBench again; on Linux it needs glibc, which Alpine has not',
      cause,
    });
  }
}

/** The version of onnxruntime and the execution providers inside its library. */
export function describeRuntime(): { readonly version: string; readonly providers: readonly string[] } {
  const providers = loadRuntime().listSupportedBackends();
  return { version: runtimeVersion, providers: providers.filter(({ bundled }) => bundled).map(({ name }) => name) };
}

/** A loaded graph. Loading and running take a turn of the event loop, so that a thread hears messages in between. */
export class Session {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  readonly #native: NativeSession;

  static async open(bytes: Uint8Array, options: object): Promise<Session> {
    await turn();
    const native = new (loadRuntime().InferenceSession)();
    native.loadModel(bytes.buffer, bytes.byteOffset, bytes.byteLength, options);
    return new Session(native);
  }

  private constructor(native: NativeSession) {
    this.#native = native;
    this.inputNames = native.inputMetadata.map(({ name }) => name);
    this.outputNames = native.outputMetadata.map(({ name }) => name);
  }

  /** Outputs that are given are written in place, those that are null are made; without any, all are made. */
  async run(inputs: RuntimeTensors, outputs?: Outputs): Promise<RuntimeTensors> {
    await turn();
    return this.#native.run(inputs, outputs ?? Object.fromEntries(this.outputNames.map((name) => [name, null])), {});
  }

  release(): void {
    this.#native.dispose();
  }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
