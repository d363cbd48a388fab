import { stringify } from 'yaml';
import { bytes, number } from '../base/format.ts';
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
  /** The experiment with bare names of files. */
  readonly named: Experiment;
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

/** A file of the user's by its name, others by their kind. */
const nameOf = (settings: { readonly kind: string; readonly path?: string }) => settings.path ?? settings.kind;

const table = (rows: readonly (readonly [string, string])[]) =>
  ['| | |', '|---|---|', ...rows.map(([name, value]) => `| ${name} | ${value} |`)].join('\n');

/** How rows of a table become inputs, and outputs answers. */
function useOf({ columns, targets, task }: ModelConfig): string {
  if (columns === undefined) return '';
  const answer =
    task.kind === 'multi-label'
      ? '{name: bool(z > 0) for name, z in zip(config["outputs"], logits[0])}'
      : targets === undefined
        ? 'config["classes"][int(logits[0].argmax())]'
        : '{t["name"]: z * t["deviation"] + t["mean"] for t, z in zip(config["targets"], logits[0])}';
  return `\`\`\`python
import json
config = json.load(open("config.json"))

def features(row):                         # row: a dict, or a row of a pandas table
    x = []
    for column in config["columns"]:
        value = row[column["name"]]
        if "categories" in column:
            x += [float(str(value) == category) for category in column["categories"]]
        else:
            x.append((float(value) - column["mean"]) / column["deviation"])
    return x

answer = ${answer}
\`\`\`

`;
}

/** The model card: what it is, how it was trained, what it reached, how to use it. */
export function cardOf(exported: Exported, summary: RunSummary, context: MachineContext): string {
  const { run, named: experiment, config, batch } = exported;
  const { model, data, algorithm, topology, replicas, optimizer } = experiment;
  return `---
library_name: dbench
tags: [decentralized-training, ${model.kind}]
---

# ${experiment.name}

${nameOf(model)} with ${number(config.parameters)} parameters, trained on ${nameOf(data)} by ${number(replicas)} replicas with DBench.
${experiment.description === undefined ? '' : `\n${experiment.description.trim()}\n`}
## Results

${table(results(exported, summary))}

## Training

${table([
  ['run', run.id],
  ['status', summary.status],
  ['data', `${nameOf(data)}, partition ${data.partition.kind}`],
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

${useOf(config)}\`config.json\` says how the inputs were normalised and what the outputs stand for.

## Settings

\`\`\`yaml
${stringify(experiment).trimEnd()}
\`\`\`
`;
}
