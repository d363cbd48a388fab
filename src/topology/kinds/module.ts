import { z } from 'zod';
import { sha256Setting } from '../../base/content.ts';
import { UserError } from '../../base/error.ts';
import { parse } from '../../base/schema.ts';
import { kind, type Round } from '../kind.ts';
import { roundSchema } from '../own.ts';

const isUndirected = ({ sources }: Round) => sources.every((row, i) => row.every((j) => sources[j]!.includes(i)));

/** As they were stored. */
const roundsIn = (rounds: unknown = []): Round[] => parse(z.array(roundSchema), rounds, 'rounds');

/** Rounds that a module gave when the experiment was read: from then on they are data. */
export const module = kind({
  name: 'module',
  aliases: [],
  summary: 'a TypeScript or JavaScript module of yours that says who hears whom',
  settings: {
    path: z.string().min(1).describe('a module, counted from the folder of the experiment'),
    sha256: sha256Setting,
    rounds: z
      .array(z.record(z.string(), z.unknown()))
      .min(1)
      .optional()
      .describe('what the module gave, filled in when a run starts'),
  },
  open: true,
  directed: ({ rounds }) => !roundsIn(rounds).every(isUndirected),
  weights: 'metropolis',
  build(n, { path, rounds }) {
    if (rounds === undefined) throw new UserError(`the module ${path} has not been read`);
    const given = roundsIn(rounds);
    if (given[0]!.sources.length !== n)
      throw new UserError(`${path} was asked for ${given[0]!.sources.length} replicas, not for ${n}`);
    return { period: given.length, round: (step) => given[step]! };
  },
});
