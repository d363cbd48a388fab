import type { OnnxFile } from '../../onnx/file.ts';
import type { Constant } from '../../onnx/values.ts';

/** What is trained. */
interface Stored {
  readonly name: string;
  readonly constant: Constant;
}

/** Names that exporters make up, of which PyTorch's state_dict knows nothing. */
export const isMadeUp = (name: string): boolean => /^(onnx::|\/|\d+$)/.test(name);

/**
 * In EVAL mode PyTorch writes tensors that happen to be equal, as the scales of new norms are, only once, and the others as copies: they are
 * tensors of their own again. (Those that are tied have one name from the start.)
 */
export function separated(file: OnnxFile): OnnxFile {
  const initializers = new Map(file.initializers);
  const nodes = file.nodes.filter(({ op, inputs, outputs }) => {
    const constant = op === 'Identity' ? initializers.get(inputs[0] ?? '') : undefined;
    const name = outputs[0] ?? '';
    if (constant === undefined || name === '' || isMadeUp(name) || initializers.has(name)) return true;
    initializers.set(name, constant);
    return false;
  });
  return { ...file, initializers, nodes };
}

/** The module that a node belongs to: `/h.0/mlp/mlp.2/Gemm` → h.0.mlp.2 */
function moduleOf(node: string): string {
  const parts = node.split('/').slice(1, -1);
  return parts.filter((part, i) => !parts[i + 1]?.startsWith(`${part}.`)).join('.');
}

/**
 * Tied weights have one name in the file. That a module of another name computes with them too, as the head of a language model does with the
 * table of its embedding, is told by the names of nodes: its name → that of the file.
 */
export function sharedNames({ nodes }: OnnxFile, stored: readonly Stored[]): Readonly<Record<string, string>> {
  const weights = new Set(stored.filter(({ constant }) => constant.dims.length > 1).map(({ name }) => name));
  const known = new Set(stored.map(({ name }) => name));
  const shared = nodes.flatMap(({ name, inputs }) => {
    // A module that is called again has a number behind its name.
    const module = moduleOf(name).replace(/_\d+$/, '');
    return inputs.flatMap((input): [string, string][] => {
      const owner = input.split('.');
      const second = `${module}.${owner.at(-1)}`;
      // Its own module, or one around it that reaches into it.
      const isOwn = owner.includes(module.slice(module.lastIndexOf('.') + 1));
      return weights.has(input) && module !== '' && !isOwn && !known.has(second) ? [[second, input]] : [];
    });
  });
  return Object.fromEntries(shared);
}

/** Tensors that a state_dict holds and nobody trains, such as masks and tables of positions. */
export const keptTensors = (file: OnnxFile, stored: readonly Stored[]): ReadonlyMap<string, Constant> => {
  const trained = new Set(stored.map(({ name }) => name));
  return new Map([...file.initializers].filter(([name]) => !trained.has(name) && !isMadeUp(name)));
};
