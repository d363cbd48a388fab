import type { Model, Task } from '../../src/model/context.ts';
import { densenet, densenet100Schema } from '../../src/model/densenet.ts';
import { buildModel, modelSchema } from '../../src/model/models.ts';

/** The model of a golden file: a DenseNet may have a depth that experiments do not offer. */
export function goldenModel(settings: Readonly<Record<string, unknown>>, task: Task): Model {
  if (!('depth' in settings)) return buildModel(modelSchema.parse(settings), task);
  const { depth, ...rest } = settings;
  return densenet({ ...densenet100Schema.parse(rest), depth: Number(depth) }, task);
}
