import { z } from 'zod';
import { requireSha256, sha256Of, sha256Setting } from '../base/content.ts';
import { told, UserError } from '../base/error.ts';
import { readBytes } from '../base/file.ts';
import { parse } from '../base/schema.ts';
import { computeTimes, type DeviceSettings, devicesOf, devicesSchema, toMeasure } from '../network/devices.ts';
import {
  buildNetwork,
  findPreset,
  type NetworkSettings,
  namedNetwork,
  networkSchema,
  resolvedNetwork,
} from '../network/network.ts';
import { checkPremises, devicesOfReplicas } from '../network/premises.ts';
import { isNetworkFile } from './files.ts';
import { parseText } from './source.ts';

/** A network with a name, and what is known of its devices. */
export interface NamedNetwork {
  readonly name: string;
  readonly network: NetworkSettings;
  readonly devices: Readonly<Record<string, unknown>>;
}

const fileSchema = z.strictObject({
  name: z.string().min(1).optional(),
  description: z.string().optional(),
  network: networkSchema,
  devices: devicesSchema.optional(),
});

function networkIn(path: string, sha256?: string): NamedNetwork {
  const content = readBytes(path, 'network file');
  requireSha256(path, sha256Of(content), sha256);
  const { name = path, network, devices = {} } = parse(fileSchema, parseText(content.toString(), path), path);
  return { name, network: network as NetworkSettings, devices };
}

/** What a word stands for: the name of a preset, or a file of one's own; with the placement that is asked for, if any. */
export function findNetwork(word: string, placement?: string): NamedNetwork {
  const found = named(word);
  return placement === undefined ? found : { ...found, network: { ...found.network, placement } };
}

function named(word: string): NamedNetwork {
  if (isNetworkFile(word)) return networkIn(word);
  const network = namedNetwork(word);
  return { name: network.kind, network, devices: findPreset(network.kind)?.devices ?? {} };
}

export const findNetworks = (words: string, placement?: string): readonly NamedNetwork[] =>
  words
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean)
    .map((word) => findNetwork(word, placement));

/** The devices of a network, with what is given besides. */
export const devicesFor = ({ devices }: NamedNetwork, given: object): DeviceSettings => devicesOf(devices, given);

const file = z.strictObject({
  kind: z.literal('file').describe('a network of yours, with its devices'),
  path: z.string().min(1).describe('a file in YAML or JSON, counted from the folder of the experiment'),
  sha256: sha256Setting,
});

/** A name stands for the settings of a preset, the name of a file for what is in it. */
const spelledOut = (given: unknown): unknown =>
  typeof given !== 'string' ? given : isNetworkFile(given) ? { kind: 'file', path: given } : { kind: given };

/** `network` in an experiment: settings, or one word for them. */
export const networkSetting = z.preprocess(
  spelledOut,
  z.discriminatedUnion('kind', [file, ...networkSchema.options] as unknown as typeof networkSchema.options),
);

interface Given {
  readonly network?: NetworkSettings | undefined;
  readonly devices?: DeviceSettings | undefined;
}

/** The network and its devices as plain data with nothing left to look up: no preset and no file, so that neither can change a run. */
export function withNetwork<T extends Given>(run: T): T {
  if (run.network === undefined) return run;
  const { network, devices, ...named } = foundFor(run.network);
  return { ...run, network: { ...named, ...resolvedNetwork(network) }, devices: devicesOf(devices, run.devices) };
}

function foundFor(network: NetworkSettings): Omit<NamedNetwork, 'name'> & { readonly name?: string } {
  if (network.kind === 'file') return networkIn(network.path as string, network.sha256 as string | undefined);
  const preset = findPreset(network.kind);
  return preset === undefined
    ? { network, devices: {} }
    : { name: preset.name, network, devices: preset.devices ?? {} };
}

/** As it was chosen, before the time of a step was measured. */
export function unmeasured<T extends Given>(run: T): T {
  if (run.devices?.measured === undefined) return run;
  const { measured: _, ...devices } = run.devices;
  return { ...run, devices };
}

/** What is wrong with the time of a run: what is missing, and whether the network is for so many replicas. */
export function problemsOfTime({
  network,
  devices,
  until,
  ...run
}: Given & {
  readonly replicas: number;
  readonly seed: number;
  readonly batch: number;
  readonly until?: object | undefined;
}): string[] {
  // Devices alone are for networks that the run is timed on later.
  if (network === undefined)
    return until === undefined ? [] : ['until: there is no time without a network; give network, as in network: lan'];
  const known = toMeasure(devices!) ? { ...devices!, measured: '1ms' } : devices!;
  const n = devicesOfReplicas(network, run.replicas);
  return [
    ...problemOf(() => {
      checkPremises(network, run.replicas);
      buildNetwork(network, n);
    }, 'network: '),
    ...problemOf(() => computeTimes(known, { ...run, n })),
  ];
}

function problemOf(attempt: () => unknown, where = ''): string[] {
  try {
    attempt();
    return [];
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return [where + told(error)];
  }
}
