import { Option } from 'commander';
import { parse } from '../base/schema.ts';
import { wholeNumber } from '../base/whole-number.ts';
import { override } from '../experiment/experiment.ts';
import { parseText } from '../experiment/source.ts';
import type { Task } from '../model/context.ts';
import { type ModelSettings, modelSchema, usualTask } from '../model/models.ts';
import { type OptimizerSettings, optimizerSchema } from '../optim/optimizer.ts';
import { setOption } from './options.ts';

/** Options that several commands share, and what they stand for. */

export interface ModelOptions {
  readonly set: readonly string[];
  readonly shape?: Task['shape'];
  readonly classes?: number;
  readonly batch: number;
  readonly optimizer: string;
}

/** For options that count something. */
export const countOf = (option: string) => (text: string) => wholeNumber(option, text, 1);

const shape = (text: string): Task['shape'] => text.split(',').map(countOf('--shape'));

export const modelOptions = (batch: number): readonly Option[] => [
  setOption('a setting of the model'),
  new Option('--shape <sizes>', 'of one sample, as in 3,32,32; that of its usual data by default').argParser(shape),
  new Option('--classes <count>', 'classes or words; those of its usual data by default').argParser(
    countOf('--classes'),
  ),
  new Option('--batch <size>', 'samples of one step').argParser(countOf('--batch')).default(batch),
  new Option('--optimizer <settings>', 'a kind, or settings as in "{ kind: adam, beta1: 0.8 }"').default('sgd'),
];

export const modelSettings = (kind: string, { set }: ModelOptions): ModelSettings =>
  parse(modelSchema, set.reduce<unknown>(override, { kind }), 'model');

export function optimizerSettings({ optimizer }: ModelOptions): OptimizerSettings {
  const given = parseText(optimizer, '--optimizer');
  return parse(optimizerSchema, typeof given === 'string' ? { kind: given } : given, '--optimizer');
}

export function taskOf({ kind }: ModelSettings, { shape, classes }: ModelOptions): Task {
  const usual = usualTask(kind);
  return { shape: shape ?? usual.shape, classes: classes ?? usual.classes };
}
