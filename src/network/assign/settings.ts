import { z } from 'zod';
import { UserError } from '../../base/error.ts';
import { parse } from '../../base/schema.ts';
import { buildNetwork, type Network, namedNetwork, networkSchema } from '../network.ts';
import { bytesOf, sizeSetting, timeSetting } from '../units.ts';
import { problemOf, type ScheduleProblem } from './problem.ts';

/** What a schedule is asked for. */
export const scheduleSchema = z.strictObject({
  network: z.union([z.string(), networkSchema]).describe('the name of a network, or one with its settings'),
  devices: z.int().min(1).max(4096).describe('how many there are'),
  stages: z.int().min(1).describe("into how many parts the model's layers are cut; each has a group of devices"),
  gradients: sizeSetting('of a stage, exchanged inside its group after every step'),
  activations: sizeSetting('of a batch, from each stage to the next'),
  roundTrips: z
    .boolean()
    .default(false)
    .describe('count a whole round trip as the latency of a message, as the published scheduler does'),
  compute: timeSetting('of one gradient of the whole model on one device: then a step is timed too').optional(),
  parts: z.int().min(1).optional().describe('micro-batches that a batch is cut into; 4 × stages by default'),
  seed: z.int().min(0).default(1).describe('of the search'),
});
export type ScheduleSettings = Readonly<z.output<typeof scheduleSchema>>;
export type ScheduleGiven = Readonly<Record<string, unknown>>;

/** Settings, checked, with the network and the problem that they describe. */
export function readSchedule(
  given: unknown,
  what: string,
): { settings: ScheduleSettings; network: Network; problem: ScheduleProblem } {
  const settings = parse(scheduleSchema, given, what);
  const { devices, stages } = settings;
  if (devices % stages !== 0)
    throw new UserError(`${what}: ${devices} devices cannot be divided into ${stages} groups of one size`, {
      hint: `use a number of stages that divides ${devices}`,
    });
  const chosen = typeof settings.network === 'string' ? namedNetwork(settings.network) : settings.network;
  const network = buildNetwork(chosen, devices);
  const problem = scheduleProblem(network, {
    ...settings,
    gradients: bytesOf(settings.gradients),
    activations: bytesOf(settings.activations),
  });
  return { settings, network, problem };
}

/** What groups of a network's devices are measured by; a link is as slow as the port at either end. */
export function scheduleProblem(
  network: Network,
  {
    stages,
    gradients,
    activations,
    roundTrips = false,
  }: Pick<ScheduleSettings, 'stages'> & {
    readonly gradients: number;
    readonly activations: number;
    readonly roundTrips?: boolean;
  },
): ScheduleProblem {
  const { n } = network;
  const ways = Array.from({ length: n * n }, (_, at) => {
    const [from, to] = [Math.floor(at / n), at % n];
    if (from === to) return { latency: 0, rate: Number.POSITIVE_INFINITY };
    const { latencyNs, rate, up, down } = network.way(from, to);
    return {
      latency: (roundTrips ? 2 : 1) * latencyNs * 1e-9,
      rate: 8 * Math.min(rate, network.upRates[up]!, network.downRates[down]!),
    };
  });
  const links = { devices: n, latency: ways.map(({ latency }) => latency), rate: ways.map(({ rate }) => rate) };
  return problemOf(links, stages, gradients, activations);
}
