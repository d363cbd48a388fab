import { z } from 'zod';
import { sha256Setting } from '../../base/content.ts';
import { UserError } from '../../base/error.ts';
import type { DeepReadonly } from '../../base/schema.ts';
import { nanoseconds, spanSetting, timeSetting } from '../units.ts';

const probability = z.number().min(0).max(1).describe('that a message is lost');

const wait = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('all').describe('for everybody whom a replica hears') }),
  z.strictObject({
    kind: z.literal('timeout').describe('at most so long; what has not come by then is left out'),
    time: timeSetting('from the moment at which a replica has sent its own messages'),
  }),
  z.strictObject({
    kind: z.literal('quorum').describe('for the first so many; what comes later is left out'),
    count: z.int().min(1).describe('others that a replica waits for'),
  }),
]);

const loss = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('retransmit').describe('sent again until it arrives: changes times and nothing else'),
    probability: probability.lt(1),
    after: timeSetting('until a message is sent again').default('200ms'),
  }),
  z.strictObject({
    kind: z.literal('keep').describe('for good: the receiver keeps that weight of its own parameters'),
    probability,
    scope: z
      .enum(['message', 'edge'])
      .default('message')
      .describe('whether messages are lost one by one, or both that cross an edge in a gossip'),
  }),
]);

const common = {
  back: z
    .enum(['mean', 'own', 'initial'])
    .default('mean')
    .describe('what a replica comes back with: the mean of its neighbours, what it had, or the first parameters'),
  noticed: timeSetting('until those who wait for a replica go on without it, after it left while it computed').default(
    '1s',
  ),
};

export const awaySchema = z.strictObject({
  replica: z.int().min(0).describe('which one is away'),
  from: spanSetting('from then on'),
  to: spanSetting('until then'),
});

const churn = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('list').describe('replicas that are away at certain times'),
    away: z.array(awaySchema).min(1).describe('one interval after the other'),
    ...common,
  }),
  z.strictObject({
    kind: z.literal('onOff').describe('every replica comes and goes by chance; durations are exponential'),
    on: spanSetting('how long it is there, mean'),
    off: spanSetting('how long it is away, mean'),
    ...common,
  }),
  z.strictObject({
    kind: z.literal('diurnal').describe('more are there by day than by night'),
    least: z.number().min(0).max(1).default(0.1).describe('share that is there at the quietest moment'),
    most: z
      .number()
      .min(0)
      .max(1)
      .default(0.8)
      .describe('share that is there at the busiest one, with which it starts'),
    period: spanSetting('from one to the next').default('60min'),
    ...common,
  }),
  z.strictObject({
    kind: z.literal('trace').describe('a file of intervals with the columns replica, from and to; becomes a list'),
    path: z.string().min(1).describe('CSV file; seconds'),
    sha256: sha256Setting,
    ...common,
  }),
]);

/** What goes wrong, as an experiment says it: messages that are lost, replicas that come and go, and how long others wait. */
export const faultsSchema = z.strictObject({
  wait: wait.prefault({ kind: 'all' }).describe('how long a replica waits for those whom it hears'),
  loss: loss.optional().describe('messages that are lost'),
  churn: churn.optional().describe('replicas that are away for a while'),
});
export type FaultSettings = DeepReadonly<z.output<typeof faultsSchema>>;
export type LossSettings = NonNullable<FaultSettings['loss']>;
export type ChurnSettings = NonNullable<FaultSettings['churn']>;
export type Duration = z.output<ReturnType<typeof spanSetting>>;

/** What the clock of churn counts: steps, or nanoseconds. */
export type ChurnUnit = 'steps' | 'time';

export const spanValue = (span: Duration): number => (typeof span === 'number' ? span : nanoseconds(span));

function spansOf(churn: ChurnSettings): readonly Duration[] {
  switch (churn.kind) {
    case 'list':
      return churn.away.flatMap(({ from, to }) => [from, to]);
    case 'onOff':
      return [churn.on, churn.off];
    case 'diurnal':
      return [churn.period];
    case 'trace':
      return ['0s'];
  }
}

/** Steps or time, not both; 0 is 0 of either. */
export function churnUnit(churn: ChurnSettings): ChurnUnit {
  const spans = spansOf(churn).filter((span) => span !== 0);
  const units = new Set(spans.map((span): ChurnUnit => (typeof span === 'number' ? 'steps' : 'time')));
  if (units.size > 1)
    throw new UserError('faults.churn: some durations are numbers of steps, others are times; use one of both');
  return units.has('time') ? 'time' : 'steps';
}

/** Whether what replicas hear depends on the faults, and whether it depends on times: then a run cannot be timed anew on another network. */
export const changesLearning = (faults: FaultSettings | undefined): boolean =>
  faults !== undefined && (faults.wait.kind !== 'all' || faults.loss?.kind === 'keep' || faults.churn !== undefined);

export const followsTime = (faults: FaultSettings | undefined): boolean =>
  faults !== undefined &&
  (faults.wait.kind !== 'all' || (faults.churn !== undefined && churnUnit(faults.churn) === 'time'));
