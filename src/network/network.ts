import { z } from 'zod';
import { suggest, UserError } from '../base/error.ts';
import { parse } from '../base/schema.ts';
import { wiringKinds } from './kinds.ts';
import { pipelineSchema } from './pipeline.ts';
import type { Preset } from './preset.ts';
import { presets } from './presets.ts';
import { nanoseconds, timeSetting } from './units.ts';
import type { Way, Wiring, WiringKind } from './wiring.ts';

export const sharings = ['none', 'fair', 'serial'] as const;
export const collectives = ['auto', 'ring', 'tree', 'hierarchical'] as const;

/** What all kinds of networks have. */
const common = {
  name: z.string().min(1).optional().describe('what it is called; a preset and a file have a name'),
  sharing: z
    .enum(sharings)
    .default('serial')
    .describe('how messages share a port: not at all, all at once, or one after the other'),
  overhead: timeSetting('time that a port is busy with each message besides its bytes').default('0us'),
  efficiency: z.number().gt(0).max(1).default(1).describe('share of the rates that is left in practice'),
  tcp: z.boolean().default(false).describe('latency × 13.01 and rates × .97, as SimGrid models TCP'),
  collective: z
    .enum(collectives)
    .default('auto')
    .describe('how an exact mean over all replicas is made; auto: the fastest'),
  buckets: z
    .int()
    .min(1)
    .default(1)
    .describe('parts in which the mean of gradients follows the backward pass; 1: after it'),
  placement: z
    .union([z.enum(['listed', 'fastest']), z.array(z.int().min(0)).min(1)])
    .default('listed')
    .describe(
      'the device of each replica: as they are listed, so that a step of plain gossip is fastest, or a list of your own',
    ),
  pipeline: pipelineSchema
    .optional()
    .describe('a replica is a pipeline of several devices, each with a part of the model'),
};

/** A setting that a preset has, to be chosen otherwise. */
function again(schema: z.ZodType, said = schema.description): z.ZodType {
  const { innerType } = schema.def as { innerType?: z.ZodType };
  if (innerType !== undefined) return again(innerType, said ?? innerType.description);
  return said === undefined ? schema.optional() : schema.optional().describe(said);
}

const baseOf = ({ network }: Preset) => wiringKinds.find(({ name }) => name === network.kind)!;

function presetSchema(preset: Preset) {
  const settings = Object.entries({ ...baseOf(preset).settings, ...common } as Record<string, z.ZodType>);
  return z.strictObject({
    kind: z.enum([preset.name, ...(preset.aliases ?? [])]).describe(preset.summary),
    ...(Object.fromEntries(settings.map(([name, schema]) => [name, again(schema)])) as object),
  });
}

const kindSchema = ({ name, summary, settings }: WiringKind) =>
  z.strictObject({ kind: z.literal(name).describe(summary), ...settings, ...common });

type Member = ReturnType<typeof kindSchema>;

/** A network as an experiment names it: a kind with its settings, or a preset and what differs from it. */
export const networkSchema = z.discriminatedUnion('kind', [
  ...presets.map(presetSchema),
  ...wiringKinds.map(kindSchema),
] as unknown as [Member, ...Member[]]);
export type NetworkSettings = Readonly<{ kind: string; [setting: string]: unknown }>;

/** n devices and what is between them. */
export interface Network extends Wiring {
  readonly n: number;
  readonly sharing: (typeof sharings)[number];
  readonly overheadNs: number;
  readonly collective: (typeof collectives)[number];
  readonly buckets: number;
  /** What a replica sends another goes in so many equal parts, each on its own way: one, unless replicas are pipelines. */
  readonly stages: number;
  ways(from: number, to: number): readonly Way[];
}

/** By its name or another that it goes by. */
export function findPreset(name: string): Preset | undefined {
  const wanted = name.toLowerCase();
  return presets.find((preset) => preset.name === wanted || preset.aliases?.includes(wanted));
}

/** The settings of a network word on the command line: the name of a preset. */
export function namedNetwork(name: string): NetworkSettings {
  const preset = findPreset(name);
  if (preset !== undefined) return { kind: preset.name };
  const names = presets.map((each) => each.name);
  throw new UserError(`there is no network "${name}"`, {
    hint: `${suggest(name, names)} Files of your own end in .yaml, .yml or .json`.replace(/([^?.])( Files)/, '$1.$2'),
  });
}

export type ResolvedNetwork = NetworkSettings & Readonly<z.output<z.ZodObject<typeof common>>>;

/** As the kind that a preset stands for, all settings filled in. */
export function resolvedNetwork(given: NetworkSettings): ResolvedNetwork {
  const { kind, ...chosen } = parse(networkSchema, given, 'network') as NetworkSettings;
  const preset = findPreset(kind);
  if (preset === undefined) return { kind, ...chosen } as ResolvedNetwork;
  const defined = Object.fromEntries(Object.entries(chosen).filter(([, value]) => value !== undefined));
  const base = wiringKinds.find(({ name }) => name === preset.network.kind)!;
  return parse(kindSchema(base), { ...preset.network, ...defined }, kind) as ResolvedNetwork;
}

const tcp = { latency: 13.01, rate: 0.97 };

/** The network between n devices; a UserError if it is of another size. */
export function buildNetwork(given: NetworkSettings, n: number): Network {
  const settings = resolvedNetwork(given);
  const kind = wiringKinds.find(({ name }) => name === settings.kind)!;
  const wiring = kind.build(n, settings as never);
  const slower = settings.efficiency * (settings.tcp ? tcp.rate : 1);
  const later = settings.tcp ? tcp.latency : 1;
  const way = (from: number, to: number): Way => {
    const { latencyNs, rate, up, down } = wiring.way(from, to);
    return { latencyNs: Math.round(latencyNs * later), rate: rate * slower, up, down };
  };
  return {
    ...wiring,
    n,
    upRates: wiring.upRates.map((rate) => rate * slower),
    downRates: wiring.downRates.map((rate) => rate * slower),
    way,
    ways: (from, to) => [way(from, to)],
    sharing: settings.sharing,
    overheadNs: Math.round(nanoseconds(settings.overhead)),
    collective: settings.collective,
    buckets: settings.buckets,
    stages: 1,
  };
}
