import { onednn } from '../src/onednn/backend.ts';
import { loadLibrary } from '../src/onednn/library.ts';
import { onnx, portableOnnx } from '../src/onnx/backend.ts';
import type { Backend } from '../src/tensor/backend.ts';

/** Why oneDNN cannot be tested here, if so. */
export const noOneDnn = await loadLibrary().then(
  () => undefined,
  (error: Error) => error.message,
);

interface Tested {
  readonly backend: Backend;
  /** For titles: the name, and why it is skipped. */
  readonly title: string;
  readonly skip: boolean;
}

const tested = (backend: Backend, missing?: string): Tested => ({
  backend,
  title: missing === undefined ? backend.name : `${backend.name} (${missing})`,
  skip: missing !== undefined,
});

/** What models are trained with. */
export const backends: readonly Tested[] = [tested(onnx), tested(onednn, noOneDnn)];
/** Those, and what users of exported files have. */
export const allBackends: readonly Tested[] = [...backends, tested(portableOnnx)];
