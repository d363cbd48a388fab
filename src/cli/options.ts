import { Option } from 'commander';
import { backendChoices } from '../backends.ts';

/** `--set path=value`, as often as wanted: settings laid over those of a file or a model. */
export function setOption(of = 'a setting'): Option {
  return new Option('--set <path=value>', `override ${of} (repeatable)`)
    .argParser((value, all: string[]) => [...all, value])
    .default([], 'none');
}

/** `--backend auto|onnx|onednn` */
export function backendOption(): Option {
  return new Option('--backend <name>', 'what computes the models; auto: oneDNN where it is installed')
    .choices(backendChoices)
    .default('auto');
}
