import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Model, Task } from '../../src/model/context.ts';
import { densenet, densenet100Schema } from '../../src/model/densenet.ts';
import { buildModel, modelSchema } from '../../src/model/models.ts';

type Settings = Readonly<Record<string, unknown>>;

/** The model of a golden file: a DenseNet may have a depth that experiments do not offer, and exported models are compressed. */
export function goldenModel(settings: Settings, task: Task): Model {
  if ('path' in settings) return exportedModel(settings, task);
  if (!('depth' in settings)) return buildModel(modelSchema.parse(settings), task);
  const { depth, ...rest } = settings;
  return densenet({ ...densenet100Schema.parse(rest), depth: Number(depth) }, task);
}

function exportedModel(settings: Settings, task: Task): Model {
  const folder = mkdtempSync(join(tmpdir(), 'dbench-parity-'));
  const path = join(folder, 'model.onnx');
  try {
    writeFileSync(path, gunzipSync(readFileSync(new URL(`../golden/torch/${settings.path}`, import.meta.url))));
    return buildModel(modelSchema.parse({ ...settings, path }), task);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
