import { env, listSupportedBackends } from 'onnxruntime-node';

/** The version of onnxruntime and the execution providers that come inside its package. */
export function describeRuntime(): { readonly version: string; readonly providers: readonly string[] } {
  const bundled = listSupportedBackends().filter((backend) => backend.bundled);
  return { version: env.versions.node ?? env.versions.common, providers: bundled.map(({ name }) => name) };
}
