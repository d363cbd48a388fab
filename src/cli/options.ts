import { Option } from 'commander';
import { backendChoices } from '../backends.ts';
import { UserError } from '../base/error.ts';
import { transports } from '../transport/choose.ts';

/** `--set path=value`, as often as wanted: settings laid over those of a file or a model. */
export function setOption(of = 'a setting'): Option {
  return new Option('--set <path=value>', `override ${of} (repeatable)`)
    .argParser((value, all: string[]) => [...all, value])
    .default([], 'none');
}

export const defaultRuns = 'runs';
export const runsOption = () => new Option('--runs <folder>', 'where runs are kept').default(defaultRuns);
export const jsonOption = (description = 'print JSON') => new Option('--json', description);

/** `--transport`: how ranks work together. */
export function transportOption(): Option {
  return new Option('--transport <kind>', 'how ranks work together; auto: MPI under a launcher such as mpirun')
    .choices(transports)
    .default('auto');
}

/** `--timeout`: long enough for the longest thing one rank does while the others wait, such as an evaluation. */
export function timeoutOption(): Option {
  const seconds = (text: string) => {
    const value = Number(text);
    if (value > 0 && value <= 1e6) return value;
    throw new UserError(`--timeout must be a number of seconds above 0, got "${text}"`);
  };
  return new Option('--timeout <seconds>', 'give up on other processes after so long without a word (MPI)')
    .argParser(seconds)
    .default(600);
}

/** `--backend auto|onnx|onednn` */
export function backendOption(): Option {
  return new Option(
    '--backend <name>',
    'what computes the models; auto: the faster of those installed for this kind of model',
  )
    .choices(backendChoices)
    .default('auto');
}

/** `--placement listed|fastest` */
export const placementOption = () =>
  new Option(
    '--placement <kind>',
    'the devices of replicas: as listed, or so that a step of plain gossip is fastest',
  ).choices(['listed', 'fastest']);
