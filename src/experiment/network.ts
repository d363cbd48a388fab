import { extname } from 'node:path';
import { z } from 'zod';
import { readText } from '../base/file.ts';
import { parse } from '../base/schema.ts';
import { type DeviceSettings, devicesOf, devicesSchema } from '../network/devices.ts';
import { findPreset, type NetworkSettings, namedNetwork, networkSchema } from '../network/network.ts';
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
  devices: devicesSchema.partial().optional(),
});

/** What a word on the command line stands for: the name of a preset, or a file of one's own. */
export function findNetwork(word: string): NamedNetwork {
  if (['.yaml', '.yml', '.json'].includes(extname(word))) {
    const given = parseText(readText(word, 'network file'), word) as { readonly devices?: object };
    const { name = word, network } = parse(fileSchema, given, word);
    return { name, network: network as NetworkSettings, devices: { ...given.devices } };
  }
  const network = namedNetwork(word);
  return { name: network.kind, network, devices: findPreset(network.kind)?.devices ?? {} };
}

export const findNetworks = (words: string): readonly NamedNetwork[] =>
  words
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean)
    .map(findNetwork);

/** The devices of a network, with what is given besides. */
export const devicesFor = ({ devices }: NamedNetwork, given: object): DeviceSettings => devicesOf(devices, given);
