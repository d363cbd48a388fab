import { z } from 'zod';
import type { ClientScheduler } from './scheduler.ts';
import { all } from './schedulers/all.ts';
import { deadline } from './schedulers/deadline.ts';
import { fastest } from './schedulers/fastest.ts';
import { fixed } from './schedulers/fixed.ts';
import { leastLoaded } from './schedulers/least-loaded.ts';
import { nearest } from './schedulers/nearest.ts';
import { oldest } from './schedulers/oldest.ts';
import { random } from './schedulers/random.ts';
import { roundRobin } from './schedulers/round-robin.ts';

/** Every scheduler, a row each. */
export const schedulers = [
  roundRobin,
  all,
  random,
  fixed,
  nearest,
  leastLoaded,
  fastest,
  deadline,
  oldest,
] as unknown as readonly ClientScheduler[];

const schemaOf = ({ name, summary, settings }: ClientScheduler) =>
  z.strictObject({ kind: z.literal(name).describe(summary), ...settings });
type Member = ReturnType<typeof schemaOf>;

/** A scheduler by its name, with its settings. */
export const schedulerSchema = z.discriminatedUnion('kind', schedulers.map(schemaOf) as [Member, ...Member[]]);
export type SchedulerSettings = Readonly<z.output<typeof schedulerSchema>>;

export const schedulerOf = ({ kind }: SchedulerSettings): ClientScheduler =>
  schedulers.find(({ name }) => name === kind)!;
