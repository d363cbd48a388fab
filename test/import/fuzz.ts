import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { UserError } from '../../src/base/error.ts';
import type { Random } from '../../src/base/random.ts';
import { importedModel, logitCount, onnxSchema, portsOf } from '../../src/model/onnx.ts';
import { gradientStep } from '../../src/model/step.ts';
import { parseOnnx } from '../../src/onnx/file.ts';

const folder = new URL('../golden/torch/', import.meta.url);

/** The exported models, by name. */
export const exportedFiles: ReadonlyMap<string, Uint8Array> = new Map(
  readdirSync(folder)
    .filter((name) => name.endsWith('.onnx.gz'))
    .map((name) => [name.replace('.onnx.gz', ''), gunzipSync(readFileSync(new URL(name, folder)))]),
);

/** Some bytes changed, taken out, put in or repeated, or the end cut off. */
export function mutated(bytes: Uint8Array, random: Random): Uint8Array {
  let result = Uint8Array.from(bytes);
  for (let changes = 1 + random.below(4); changes > 0; changes--) {
    const at = random.below(result.length);
    const size = 1 + random.below(random.below(4) === 0 ? 200 : 8);
    const kind = random.below(8);
    if (kind < 4) result[at] = kind < 2 ? random.below(256) : [0, 1, 127, 255][random.below(4)]!;
    else if (kind === 4) result = Buffer.concat([result.subarray(0, at), result.subarray(at + size)]);
    else if (kind === 5) {
      const noise = Uint8Array.from({ length: size }, () => random.below(256));
      result = Buffer.concat([result.subarray(0, at), noise, result.subarray(at)]);
    } else if (kind === 6) result = Buffer.concat([result.subarray(0, at + size), result.subarray(at)]);
    else if (random.below(4) === 0) result = result.subarray(0, at + 1);
  }
  return result;
}

const settings = onnxSchema.parse({ kind: 'onnx', path: 'fuzz.onnx' });

/** Reads a file and traces its training step: whether that worked; throws anything but a UserError. */
export function tryImport(bytes: Uint8Array): boolean {
  try {
    const file = parseOnnx('fuzz.onnx', bytes, (_, __, ___, refuse) => refuse('there is no other file'));
    const { shape } = portsOf(file, settings);
    gradientStep(importedModel(file, settings, { shape, classes: logitCount(file, settings) }), 3);
    return true;
  } catch (error) {
    if (error instanceof UserError) return false;
    throw error;
  }
}
