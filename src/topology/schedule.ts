import { z } from 'zod';
import { UserError } from '../base/error.ts';
import { parse } from '../base/schema.ts';
import { kinds } from './kinds.ts';
import { findKind, schemaOf, type TopologyConfig, topologySchema } from './topology.ts';

const families = kinds.filter((kind) => kind.k !== undefined).map((kind) => kind.name);

/**
 * Ada: start densely connected, give up connections as training goes on.
 *
 *     k_e = max(⌊k0 − γ·e⌋, kMin)   in epoch e = 0, 1, …
 *
 * γ is `decay`, or follows from `kEnd`, the k of the last epoch. k ≥ n−1 is the complete topology; if a family does not exist
 * for some k (an odd one on an odd ring), the next smaller one is used.
 */
const ada = z
  .strictObject({
    kind: z.literal('ada').describe('a topology family whose k falls over the epochs'),
    family: z.enum(families).default('lattice').describe('any kind with a k'),
    k0: z.int().min(1).describe('neighbours per replica in the first epoch'),
    decay: z.number().min(0).optional().describe('connections given up per epoch; or give kEnd'),
    kEnd: z.int().min(1).optional().describe('neighbours per replica in the last epoch; or give decay'),
    kMin: z.int().min(1).default(2).describe('never fewer neighbours than this'),
    countPerSide: z
      .boolean()
      .default(false)
      .describe('k counts the neighbours on each side of a lattice instead of in total'),
  })
  .refine(({ decay, kEnd }) => (decay === undefined) !== (kEnd === undefined), 'give either decay or kEnd')
  .refine(({ k0, kEnd }) => kEnd === undefined || kEnd <= k0, 'kEnd must be at most k0')
  .refine(
    ({ k0, kEnd, kMin }) => Math.min(k0, kEnd ?? k0) >= kMin,
    'k0 and kEnd must be at least kMin, which is 2 unless set',
  )
  .refine(
    ({ family, countPerSide }) => !countPerSide || family === 'lattice',
    'countPerSide is for the lattice family',
  );

/** One topology up to an epoch, then another. */
const piecewise = z
  .strictObject({
    kind: z.literal('piecewise').describe('one topology after the other'),
    phases: z
      .array(
        z.strictObject({
          from: z.int().min(0).describe('first epoch of this phase'),
          topology: topologySchema.describe('as above, but ada and piecewise'),
        }),
      )
      .min(1)
      .describe('in the order of their first epochs, from 0'),
  })
  .refine(({ phases }) => phases.length === 0 || phases[0]!.from === 0, 'the first phase must be from epoch 0')
  .refine(
    ({ phases }) => phases.every((p, i) => i === 0 || p.from > phases[i - 1]!.from),
    'phases must begin in ascending epochs',
  );

/** What an experiment may say under `topology`: one topology throughout, or a schedule of them. */
export const scheduleSchema = z.discriminatedUnion('kind', [ada, piecewise, ...topologySchema.options]);
export type Schedule = Readonly<z.output<typeof scheduleSchema>>;
type Ada = z.output<typeof ada>;

/** k of Ada in an epoch, before it is fitted to n. */
export function adaK(
  { k0, kMin, decay, kEnd }: Pick<Ada, 'k0' | 'kMin' | 'decay' | 'kEnd'>,
  epoch: number,
  epochs: number,
): number {
  const perEpoch = decay ?? (epochs > 1 ? (k0 - kEnd!) / (epochs - 1) : 0);
  // The last epoch must give kEnd although (k0 − kEnd)/(epochs−1)·(epochs−1) may round below it.
  return Math.max(Math.floor(k0 - perEpoch * epoch + 1e-9), kMin);
}

/** The family's topology with the largest possible number of neighbours up to the wished one. */
function fitted(schedule: Ada, n: number, wished: number): TopologyConfig {
  const kind = findKind(schedule.family);
  const side = schedule.countPerSide ? { countPerSide: true } : {};
  let first: UserError | undefined;
  const most = schedule.countPerSide ? Math.floor(n / 2) : n - 1;
  for (let k = Math.min(wished, most); k >= 1; k--) {
    const config = parse(schemaOf(kind), { kind: kind.name, k, ...side }, 'ada');
    try {
      kind.k!(n, config as never);
      return config;
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      first ??= error;
    }
  }
  throw first ?? new UserError(`ada: ${kind.name} has no topology for n = ${n}`);
}

/** The topology of an epoch. Equal configurations are equal topologies, so rebuild only when it changes. */
export function topologyAt(schedule: Schedule, n: number, epoch: number, epochs: number): TopologyConfig {
  if (schedule.kind === 'ada') {
    const config = schedule as Ada;
    return n === 1
      ? parse(topologySchema, { kind: config.family }, 'ada')
      : fitted(config, n, adaK(config, epoch, epochs));
  }
  if (schedule.kind === 'piecewise') {
    const { phases } = schedule as z.output<typeof piecewise>;
    return phases.findLast((phase) => phase.from <= epoch)!.topology;
  }
  return schedule as TopologyConfig;
}
