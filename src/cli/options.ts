import { Option } from 'commander';

/** `--set path=value`, as often as wanted: settings laid over those of a file or a model. */
export function setOption(of = 'a setting'): Option {
  return new Option('--set <path=value>', `override ${of} (repeatable)`)
    .argParser((value, all: string[]) => [...all, value])
    .default([], 'none');
}

export const defaultRuns = 'runs';
export const runsOption = () => new Option('--runs <folder>', 'where runs are kept').default(defaultRuns);
export const jsonOption = () => new Option('--json', 'print JSON');
