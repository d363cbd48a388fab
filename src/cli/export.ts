import { statSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { UserError } from '../base/error.ts';
import { wholeNumber } from '../base/whole-number.ts';
import { exportRun } from '../export/export.ts';
import { findRun } from '../store/runs.ts';
import { jsonOption, runsOption } from './options.ts';
import { bytes, table } from './print.ts';

interface Options {
  readonly to: string;
  readonly replica?: number;
  readonly merged?: true;
  readonly batch: number;
  readonly runs: string;
  readonly json?: true;
}

const what: Readonly<Record<string, string>> = {
  'model.safetensors': 'the tensors by PyTorch’s names, running statistics included',
  'config.json': 'the network, how inputs are normalised, what outputs stand for',
  'model.onnx': 'the network with its weights: x → logits',
  'vocab.json': 'the text of every token number',
  'README.md': 'a model card with the facts of the run',
};

export function command(): Command {
  return new Command('export')
    .argument('<run>', 'id of a run, or its beginning')
    .requiredOption('--to <folder>', 'a new folder for the files')
    .option('--replica <i>', 'the model of this replica', (text) => wholeNumber('--replica', text, 0, 20_000))
    .option('--merged', 'the mean of all replicas, as it is without --replica')
    .option('--batch <n>', 'samples in a batch of the ONNX model', (text) => wholeNumber('--batch', text, 1, 65_536), 1)
    .addOption(runsOption())
    .addOption(jsonOption())
    .action(async (id: string, { to: folder, replica, merged, batch, runs, json }: Options) => {
      if (replica !== undefined && merged)
        throw new UserError('--replica and --merged: give one of them', {
          hint: 'without both it is the merged model',
        });
      const which = replica === undefined ? 'merged' : { replica };
      const names = await exportRun(findRun(runs, id), { folder, which, batch });
      const files = names.map((name) => ({ name, bytes: statSync(join(folder, name)).size }));
      if (json) return console.log(JSON.stringify({ folder, files }, null, 2));
      const rows = files.map((file) => [join(folder, file.name), bytes(file.bytes), what[file.name]!]);
      console.log(table(['file', 'size', 'what'], rows, ['what']));
    });
}
