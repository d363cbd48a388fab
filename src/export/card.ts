import { basename } from 'node:path';
import { stringify } from 'yaml';
import { bytes, number } from '../base/format.ts';
import { replaceFiles } from '../experiment/files.ts';
import type { Experiment } from '../experiment/schema.ts';
import type { RunSummary } from '../metric/summary.ts';
import type { Task } from '../model/context.ts';
import type { MachineContext } from '../store/context.ts';
import type { Run } from '../store/runs.ts';
import type { Which } from './weights.ts';

/** What config.json holds: all that is needed to use the model elsewhere. */
export interface ModelConfig {
  readonly parameters: number;
  readonly model: Experiment['model'];
  readonly task: Task;
  readonly [key: string]: unknown;
}

export interface Exported {
  readonly run: Run;
  readonly which: Which;
  readonly step: number;
  readonly batch: number;
  readonly config: ModelConfig;
}

const percent = (share: number | null) => (share === null ? 'not evaluated' : `${(100 * share).toFixed(2)} %`);

/** What was measured of the model that is exported, or of all local models. */
function results({ which, step }: Exported, summary: RunSummary): [string, string][] {
  const { accuracy, mergedAccuracy, error, mergedError, loss, mergedLoss } = summary;
  const shown = (value: number | null) => (value === null ? 'not evaluated' : number(value, 4));
  const errors: [string, string][] = [
    ['test error of the merged model', `${shown(mergedError)} (root of the mean squared error)`],
    ['test error of the local models', shown(error?.mean ?? null)],
  ];
  const accuracies: [string, string][] = [
    ['test accuracy of the merged model', percent(mergedAccuracy)],
    [
      'test accuracy of the local models',
      accuracy === null
        ? 'not evaluated'
        : `${percent(accuracy.mean)} on average, ${percent(accuracy.min)} to ${percent(accuracy.max)}`,
    ],
  ];
  const scores = error === null ? accuracies : errors;
  const losses = `${mergedLoss === null ? '–' : number(mergedLoss, 4)} merged, ${loss === null ? '–' : number(loss, 4)} local`;
  const model = which === 'merged' ? 'the mean of all replicas' : `replica ${which.replica}`;
  return [['this file', `${model} after ${number(step)} steps`], ...scores, ['test loss', losses]];
}

const table = (rows: readonly (readonly [string, string])[]) =>
  ['| | |', '|---|---|', ...rows.map(([name, value]) => `| ${name} | ${value} |`)].join('\n');

/** The model card: what it is, how it was trained, what it reached, how to use it. */
export function cardOf(exported: Exported, summary: RunSummary, context: MachineContext): string {
  const { run, config, batch } = exported;
  const { experiment } = run;
  const { model, data, algorithm, topology, replicas, optimizer } = experiment;
  // Names and contents of files are facts of the run, places on somebody's disk are not.
  const settings = replaceFiles(experiment, ({ path, sha256 }) => ({ path: basename(path), sha256 }));
  return `---
library_name: dbench
tags: [decentralized-training, ${model.kind}]
---

# ${experiment.name}

${model.kind} with ${number(config.parameters)} parameters, trained on ${data.kind} by ${number(replicas)} replicas with DBench.
${experiment.description === undefined ? '' : `\n${experiment.description.trim()}\n`}
## Results

${table(results(exported, summary))}

## Training

${table([
  ['run', run.id],
  ['status', summary.status],
  ['data', `${data.kind}, partition ${data.partition.kind}`],
  ['algorithm', algorithm.kind],
  ['topology', topology.kind],
  ['replicas, batch, epochs', `${number(replicas)}, ${number(experiment.batch)}, ${number(experiment.epochs)}`],
  ['optimizer', optimizer.kind],
  ['seed', String(experiment.seed)],
  ['sent by one replica', summary.sentBytes === null ? 'not known' : bytes(summary.sentBytes)],
  ['machine', `${context.cpu}, ${context.backend} ${context.backendVersion}, DBench ${context.dbench}`],
  ['SHA-256 of all parameters', summary.paramsSha256 ?? 'not known'],
])}

## Use

\`\`\`python
from safetensors.torch import load_file
model.load_state_dict(load_file("model.safetensors"), strict=True)   # a module with PyTorch's names for this network
model.eval()
\`\`\`

\`\`\`python
import onnxruntime
session = onnxruntime.InferenceSession("model.onnx")
logits, *_ = session.run(None, {"x": x})   # batches of ${number(batch)}; inputs and outputs are described in config.json
\`\`\`

\`config.json\` says how the inputs were normalised and what the outputs stand for.

## Settings

\`\`\`yaml
${stringify(settings).trimEnd()}
\`\`\`
`;
}
