import { Option } from 'commander';

/** `--set path=value`, as often as wanted: settings laid over those of a file or a model. */
export function setOption(of = 'a setting'): Option {
  return new Option('--set <path=value>', `override ${of} (repeatable)`)
    .argParser((value, all: string[]) => [...all, value])
    .default([], 'none');
}
