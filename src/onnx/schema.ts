import protobuf from 'protobufjs';

/**
 * The part of the ONNX format that a training graph needs; field numbers as in onnx.proto of the ONNX project. Subgraphs and functions
 * are left out on purpose: what is read of a file has no loops and no depth.
 * https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
 */
const source = `
syntax = "proto3";
message AttributeProto {
  string name = 1;
  float f = 2;
  int64 i = 3;
  bytes s = 4;
  TensorProto t = 5;
  repeated float floats = 7;
  repeated int64 ints = 8;
  int32 type = 20;
}
message ValueInfoProto { string name = 1; TypeProto type = 2; }
message NodeProto {
  repeated string input = 1;
  repeated string output = 2;
  string name = 3;
  string op_type = 4;
  repeated AttributeProto attribute = 5;
  string domain = 7;
}
message ModelProto {
  int64 ir_version = 1;
  string producer_name = 2;
  string producer_version = 3;
  GraphProto graph = 7;
  repeated OperatorSetIdProto opset_import = 8;
}
message GraphProto {
  repeated NodeProto node = 1;
  string name = 2;
  repeated TensorProto initializer = 5;
  repeated ValueInfoProto input = 11;
  repeated ValueInfoProto output = 12;
}
message StringStringEntryProto { string key = 1; string value = 2; }
message TensorProto {
  repeated int64 dims = 1;
  int32 data_type = 2;
  repeated float float_data = 4;
  repeated int32 int32_data = 5;
  repeated int64 int64_data = 7;
  string name = 8;
  bytes raw_data = 9;
  repeated double double_data = 10;
  repeated StringStringEntryProto external_data = 13;
  int32 data_location = 14;
}
message TensorShapeProto {
  message Dimension { oneof value { int64 dim_value = 1; string dim_param = 2; } }
  repeated Dimension dim = 1;
}
message TypeProto {
  message Tensor { int32 elem_type = 1; TensorShapeProto shape = 2; }
  message Sequence { TypeProto elem_type = 1; }
  oneof value {
    Tensor tensor_type = 1;
    Sequence sequence_type = 4;
  }
}
message OperatorSetIdProto { string domain = 1; int64 version = 2; }
`;

const model = protobuf.parse(source, { keepCase: true }).root.lookupType('ModelProto');

/** Element types by their numbers in the format. */
export const elementType = { float32: 1, int32: 6, int64: 7, float64: 11, uint32: 12 } as const;
export type ElementType = keyof typeof elementType;

/** Kinds of attributes by their numbers in the format. */
export const attributeType = { float: 1, int: 2, string: 3, ints: 7 } as const;

export interface AttributeProto {
  readonly name: string;
  readonly type: number;
  readonly f?: number;
  readonly i?: number;
  readonly s?: Uint8Array;
  readonly ints?: readonly number[];
}

export interface NodeProto {
  readonly name: string;
  readonly op_type: string;
  readonly domain: string;
  readonly input: readonly string[];
  readonly output: readonly string[];
  readonly attribute: readonly AttributeProto[];
}

export interface TensorProto {
  readonly name: string;
  readonly dims: readonly number[];
  readonly data_type: number;
  readonly raw_data: Uint8Array;
}

interface TensorTypeProto {
  readonly tensor_type: {
    readonly elem_type: number;
    readonly shape: { readonly dim: readonly { readonly dim_value: number }[] };
  };
}

export interface ValueInfoProto {
  readonly name: string;
  readonly type: TensorTypeProto | { readonly sequence_type: { readonly elem_type: TensorTypeProto } };
}

export interface GraphProto {
  readonly name: string;
  readonly node: readonly NodeProto[];
  readonly initializer: readonly TensorProto[];
  readonly input: readonly ValueInfoProto[];
  readonly output: readonly ValueInfoProto[];
}

export interface ModelProto {
  readonly ir_version: number;
  readonly producer_name: string;
  readonly opset_import: readonly { readonly domain: string; readonly version: number }[];
  readonly graph: GraphProto;
}

export function encode(proto: ModelProto): Uint8Array {
  return model.encode(model.create(proto as object)).finish();
}

/** A file as it was read: whole numbers may be too large to be exact, and nothing is checked yet. */
export interface DecodedTensor {
  readonly name: string;
  readonly dims: readonly number[];
  readonly data_type: number;
  readonly raw_data: Uint8Array;
  readonly float_data: readonly number[];
  readonly int32_data: readonly number[];
  readonly int64_data: readonly number[];
  readonly double_data: readonly number[];
  readonly external_data: readonly { readonly key: string; readonly value: string }[];
  readonly data_location: number;
}

export interface DecodedAttribute {
  readonly name: string;
  readonly type: number;
  readonly f: number;
  readonly i: number;
  readonly s: Uint8Array;
  readonly t?: DecodedTensor | null;
  readonly ints: readonly number[];
  readonly floats: readonly number[];
}

export interface DecodedPort {
  readonly name: string;
  readonly type?: {
    readonly tensor_type?: {
      readonly elem_type: number;
      readonly shape?: {
        readonly dim: readonly { readonly dim_value?: number; readonly dim_param?: string }[];
      } | null;
    } | null;
  } | null;
}

export interface DecodedNode extends Omit<NodeProto, 'attribute'> {
  readonly attribute: readonly DecodedAttribute[];
}

export interface DecodedModel {
  readonly producer_name: string;
  readonly producer_version: string;
  readonly opset_import: readonly { readonly domain: string; readonly version: number }[];
  readonly graph?: {
    readonly node: readonly DecodedNode[];
    readonly initializer: readonly DecodedTensor[];
    readonly input: readonly DecodedPort[];
    readonly output: readonly DecodedPort[];
  } | null;
}

/** Throws on bytes that are no message of this kind. */
export const decode = (bytes: Uint8Array): DecodedModel =>
  model.toObject(model.decode(bytes), { longs: Number, defaults: true, arrays: true }) as DecodedModel;
