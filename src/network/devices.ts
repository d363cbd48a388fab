import { z } from 'zod';
import { UserError } from '../base/error.ts';
import { Random } from '../base/random.ts';
import { type DeepReadonly, parse } from '../base/schema.ts';
import { nanoseconds, timeSetting } from './units.ts';

const time = timeSetting('time of a gradient and its step');

const noise = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('constant').describe('every step takes as long') }),
  z.strictObject({
    kind: z.literal('exponential').describe('× (1 + X), X exponential'),
    mean: z.number().gt(0).default(0.1).describe('of X'),
  }),
  z.strictObject({
    kind: z.literal('lognormal').describe('× exp(σZ − σ²/2), of mean 1'),
    sigma: z.number().gt(0).default(0.6).describe('σ'),
  }),
  z.strictObject({
    kind: z.literal('trace').describe('× these factors, again and again, each device from a place of its own'),
    factors: z.array(z.number().gt(0)).min(1).describe('one after the other'),
  }),
]);

const slow = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('devices').describe('some devices, for good'),
    share: z.number().min(0).max(1).describe('of the devices, drawn by the seed'),
    factor: z.number().gt(0).describe('times as long'),
  }),
  z.strictObject({
    kind: z.literal('steps').describe('every device now and then'),
    probability: z.number().min(0).max(1).describe('of a slow step'),
    factor: z.number().gt(0).describe('times as long'),
  }),
]);

/** In place of a time: what a step takes on the machine of the run. */
export const measuredWord = 'measured';

/** Devices as an experiment describes them. */
export const devicesSchema = z.strictObject({
  compute: timeSetting('', measuredWord)
    .optional()
    .describe(
      'time of one gradient and its step on a batch, as in 20ms; measured: the median of 20 steps on the machine where the run begins',
    ),
  perSample: time.optional().describe('the same for each sample of a batch, instead of compute'),
  each: z
    .array(z.number().gt(0))
    .min(1)
    .optional()
    .describe('how many times as long each device takes, one number for each'),
  noise: noise.optional().describe('how steps of a device differ; constant unless the network says otherwise'),
  slow: slow.optional().describe('slow devices, or slow steps'),
  factor: z
    .number()
    .gt(0)
    .optional()
    .describe('with compute: measured, how many times as long the devices take; 1 by default'),
  measured: time.optional().describe('what was measured, filled in when the run begins: resumed runs keep it'),
});
export type DeviceSettings = DeepReadonly<z.output<typeof devicesSchema>>;
type Noise = NonNullable<DeviceSettings['noise']>;

/** Nanoseconds that the step t of replica i computes, a pure function of the settings and the seed: c_i(t) = base_i · slow_i · noise_i(t). */
export type ComputeTimes = (replica: number, step: number) => number;

/** What a preset says of its devices, with what is given laid on top. */
export const devicesOf = (preset: Readonly<Record<string, unknown>> | undefined, given: unknown): DeviceSettings =>
  parse(devicesSchema, { ...preset, ...(given as object | undefined) }, 'devices');

/** Whether the time of a step is still to be measured. */
export const toMeasure = ({ compute, measured }: DeviceSettings): boolean =>
  compute === measuredWord && measured === undefined;

/** Whether every step of a device takes as long as any other. */
export const isSteady = ({ noise, slow }: DeviceSettings): boolean =>
  (noise === undefined || noise.kind === 'constant') && slow?.kind !== 'steps';

/** The time of a step without noise; a UserError if the devices have none. */
export function baseNs({ compute, perSample, factor, measured }: DeviceSettings, batch: number): number {
  if (compute !== undefined && perSample !== undefined)
    throw new UserError('devices: give compute or perSample, not both');
  if (factor !== undefined && compute !== measuredWord)
    throw new UserError(`devices: factor is for compute: ${measuredWord}`, {
      hint: `leave it out, or write compute: ${measuredWord}`,
    });
  if (compute === measuredWord && measured !== undefined) return nanoseconds(measured) * (factor ?? 1);
  if (compute === measuredWord)
    throw new UserError('devices: the time of a step has not been measured', {
      hint: 'it is when a run begins; give compute as a time, as in 20ms',
    });
  if (compute !== undefined) return nanoseconds(compute);
  if (perSample !== undefined) return nanoseconds(perSample) * batch;
  throw new UserError('devices: the time of a step is missing', {
    hint: 'give compute, as in 20ms, or perSample; dbench bench step measures it on this machine',
  });
}

export function computeTimes(
  settings: DeviceSettings,
  { n, seed, batch }: { n: number; seed: number; batch: number },
): ComputeTimes {
  const { each, noise = { kind: 'constant' }, slow } = settings;
  const base = baseNs(settings, batch);
  if (each !== undefined && each.length !== n)
    throw new UserError(`devices.each describes ${each.length} devices, but there are ${n}`);
  const chosen =
    slow?.kind === 'devices' ? new Random(seed, 'device').permutation(n).subarray(0, Math.round(slow.share * n)) : [];
  const own = Float64Array.from({ length: n }, (_, i) => base * (each?.[i] ?? 1));
  for (const i of chosen) own[i]! *= slow!.factor;
  const offset =
    noise.kind === 'trace'
      ? Int32Array.from(own, (_, i) => new Random(seed, 'device', i, 1).below(noise.factors.length))
      : undefined;
  const whole = own.map(Math.round);
  if (isSteady(settings)) return (replica) => whole[replica]!;
  return (replica, step) => {
    const random = new Random(seed, 'compute', replica, step);
    const late = slow?.kind === 'steps' && random.uniform() < slow.probability ? slow.factor : 1;
    return Math.round(own[replica]! * late * factorOf(noise, random, (offset?.[replica] ?? 0) + step));
  };
}

function factorOf(noise: Noise, random: Random, place: number): number {
  switch (noise.kind) {
    case 'constant':
      return 1;
    case 'exponential':
      return 1 - noise.mean * Math.log(1 - random.uniform());
    case 'lognormal':
      return Math.exp(noise.sigma * random.normal() - noise.sigma ** 2 / 2);
    case 'trace':
      return noise.factors[place % noise.factors.length]!;
  }
}
