import { closeSync, fstatSync, lstatSync, openSync, readSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { fileSha256, requireSha256, sha256Of } from '../base/content.ts';
import { UserError } from '../base/error.ts';
import { readBytes, reason } from '../base/file.ts';
import { type DecodedModel, type DecodedNode, type DecodedPort, decode } from './schema.ts';
import { type Constant, type Outside, tensorOf } from './values.ts';

/** An ONNX file as it is imported: every number checked, every size bounded. */
export interface OnnxFile {
  readonly path: string;
  readonly producer: string;
  readonly opset: number;
  readonly nodes: readonly OnnxNode[];
  readonly initializers: ReadonlyMap<string, Constant>;
  readonly inputs: readonly OnnxPort[];
  readonly outputs: readonly OnnxPort[];
}

export interface OnnxNode {
  /** The file's, or one by its op and place. */
  readonly name: string;
  readonly op: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: ReadonlyMap<string, OnnxAttribute>;
}
export type OnnxAttribute = number | string | readonly number[] | Constant;

export interface OnnxPort {
  readonly name: string;
  readonly isWhole: boolean;
  /** Sizes, or names for those that the file leaves open. */
  readonly dims: readonly (number | string)[];
}

const limits = { bytes: 2 ** 31, nodes: 20_000, initializers: 20_000, ports: 64, perNode: 1024, nameLength: 1000 };
export const opsets = { first: 13, last: 18 } as const;

/** What the user names: the file, what it keeps outside itself, and what both must be. */
export interface OnnxSource {
  readonly path: string;
  readonly sha256?: string | undefined;
  readonly dataPath?: string | undefined;
  readonly dataSha256?: string | undefined;
}

export function readOnnx({ path, sha256, dataPath, dataSha256 }: OnnxSource): OnnxFile {
  if (path.endsWith('.gz')) throw new UserError(`${path} is compressed`, { hint: 'unpack it first, with: gunzip' });
  const bytes = readBytes(path, 'ONNX file');
  requireSha256(path, sha256Of(bytes), sha256);
  if (dataPath !== undefined && dataSha256 !== undefined) requireSha256(dataPath, fileSha256(dataPath), dataSha256);
  return parseOnnx(path, bytes, outsideOf(path, dataPath, dataSha256));
}

/** The same from bytes; throws nothing but UserErrors. */
export function parseOnnx(path: string, bytes: Uint8Array, outside: Outside): OnnxFile {
  const refuse = (what: string, hint?: string): never => {
    throw new UserError(`${path}: ${what}`, { hint });
  };
  if (bytes.length > limits.bytes) refuse(`a file of ${bytes.length} bytes; at most ${limits.bytes} are read`);
  const { graph, ...model } = decoded(path, bytes);
  if (!graph || graph.node.length === 0) return refuse('there is no graph in it', 'is it an ONNX file?');
  if (graph.node.length > limits.nodes || graph.initializer.length > limits.initializers)
    refuse(`${graph.node.length} nodes and ${graph.initializer.length} tensors; at most ${limits.nodes} each are read`);
  if (graph.input.length > limits.ports + graph.initializer.length || graph.output.length > limits.ports)
    refuse('it has too many inputs or outputs');
  const opset = model.opset_import.find(({ domain }) => domain === '' || domain === 'ai.onnx')?.version ?? 0;
  if (!(opset >= opsets.first && opset <= opsets.last))
    refuse(`it uses opset ${opset}`, `export it with opset_version=17 (${opsets.first} to ${opsets.last} can be read)`);
  const read = (tensor: Parameters<typeof tensorOf>[0], where: string) => tensorOf(tensor, where, outside, refuse);
  const initializers = new Map<string, Constant>();
  for (const tensor of graph.initializer) {
    checkName(tensor.name, refuse);
    if (initializers.has(tensor.name)) refuse(`two tensors are named "${tensor.name}"`);
    initializers.set(tensor.name, read(tensor, tensor.name));
  }
  const nodeOf = (node: DecodedNode, at: number): OnnxNode => {
    for (const name of [node.name, node.op_type, ...node.input, ...node.output]) checkName(name, refuse);
    const name = node.name || `${node.op_type} ${at}`;
    if (Math.max(node.input.length, node.output.length, node.attribute.length) > limits.perNode)
      refuse(`node ${name} has too many inputs, outputs or attributes`);
    const { domain } = node;
    return {
      name,
      op: domain === '' || domain === 'ai.onnx' ? node.op_type : `${domain.slice(0, 100)}:${node.op_type}`,
      inputs: node.input,
      outputs: node.output,
      attributes: new Map(
        node.attribute.map((attribute) => [attribute.name, attributeOf(attribute, name, read, refuse)]),
      ),
    };
  };
  return {
    path,
    producer: `${model.producer_name} ${model.producer_version}`.trim().slice(0, 100) || 'an unknown program',
    opset,
    nodes: graph.node.map(nodeOf),
    initializers,
    inputs: graph.input.filter(({ name }) => !initializers.has(name)).map((port) => portOf(port, refuse)),
    outputs: graph.output.map((port) => portOf(port, refuse)),
  };
}

type Refuse = (what: string, hint?: string) => never;

function decoded(path: string, bytes: Uint8Array): DecodedModel {
  try {
    return decode(bytes);
  } catch (cause) {
    throw new UserError(`${path} is no ONNX file: ${(cause as Error).message}`, {
      hint: 'a PyTorch model is exported with torch.onnx.export; a .pt file cannot be read',
      cause,
    });
  }
}

function checkName(name: string, refuse: Refuse): void {
  if (name.length > limits.nameLength) refuse(`a name of ${name.length} letters: ${name.slice(0, 40)}…`);
}

/** Numbers of the kinds in the format: float, int, string, tensor, floats, ints. */
function attributeOf(
  { name, type, f, i, s, t, ints, floats }: DecodedNode['attribute'][number],
  node: string,
  read: (tensor: NonNullable<typeof t>, where: string) => Constant,
  refuse: Refuse,
): OnnxAttribute {
  if (type === 1) return f;
  if (type === 2) return whole(i, `${name} of node ${node}`, refuse);
  if (type === 3) return Buffer.from(s).toString().slice(0, limits.nameLength);
  if (type === 4 && t) return read(t, `${name} of node ${node}`);
  if (type === 6) return floats;
  if (type === 7) return ints.map((each) => whole(each, `${name} of node ${node}`, refuse));
  return refuse(`node ${node}: its attribute "${name.slice(0, 40)}" is of kind ${type}, such as a graph within it`);
}

function whole(value: number, where: string, refuse: Refuse): number {
  return Number.isSafeInteger(value) ? value : refuse(`${where} is ${value}, which is no usable whole number`);
}

function portOf({ name, type }: DecodedPort, refuse: Refuse): OnnxPort {
  checkName(name, refuse);
  const tensor = type?.tensor_type;
  if (!tensor) return refuse(`${name} is no tensor`);
  if (tensor.elem_type !== 1 && tensor.elem_type !== 7 && tensor.elem_type !== 6)
    return refuse(`${name} has elements of kind ${tensor.elem_type}`, 'export a float32 model: model.float()');
  const dims = (tensor.shape?.dim ?? []).map(({ dim_value: size, dim_param: open }, axis) => {
    if (size === undefined || size === 0) return open || `axis ${axis}`;
    return size > 0 && size < limits.bytes ? size : refuse(`${name} has an axis of size ${size}`);
  });
  return { name, isWhole: tensor.elem_type !== 1, dims };
}

/** Reads parts of the one file beside it that the user has named; by its bare name, and never through a link. A run's copy is named by its SHA-256. */
function outsideOf(path: string, dataPath: string | undefined, dataSha256: string | undefined): Outside {
  return (location, offset, length, refuse) => {
    const isBare = location !== '' && basename(location) === location && !/[\\/\0]|^\.\.?$/.test(location);
    if (!isBare) return refuse(`it keeps data in "${location.slice(0, 80)}", which is no name of a file beside it`);
    const isNamed = dataPath !== undefined && [location, dataSha256].includes(basename(dataPath));
    if (!isNamed || dirname(dataPath) !== dirname(path))
      return refuse(
        `it keeps data in ${location}${dataPath === undefined ? '' : `, not in ${dataPath}`}`,
        `set dataPath: ${location}, so that its content is part of the run; several files can be joined by onnx.save_model`,
      );
    try {
      if (!lstatSync(dataPath).isFile()) return refuse(`${location} is no plain file`, 'links are not followed');
      const handle = openSync(dataPath, 'r');
      try {
        const { size } = fstatSync(handle);
        if (offset + length > size) return refuse(`${location} has ${size} bytes, not ${offset + length}`);
        const bytes = new Uint8Array(length);
        readSync(handle, bytes, 0, length, offset);
        return bytes;
      } finally {
        closeSync(handle);
      }
    } catch (cause) {
      if (cause instanceof UserError) throw cause;
      return refuse(`cannot read ${location} beside it: ${reason(cause)}`);
    }
  };
}
