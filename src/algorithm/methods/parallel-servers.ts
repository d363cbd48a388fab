import { z } from 'zod';
import { method } from '../method.ts';
import { schedulerSchema } from '../schedulers.ts';
import { every } from '../settings.ts';

export const parallelServers = method({
  name: 'parallel-servers',
  title: 'Parallel servers',
  summary: 'clients train, servers without data average what they send and gossip with each other',
  paper: 'after arXiv 2311.16021 (clients, parallel servers, scheduling); the schedulers are ours',
  settings: {
    servers: z
      .int()
      .min(1)
      .default(2)
      .describe('how many of the replicas are servers, which have no data: the last ones'),
    scheduler: schedulerSchema
      .prefault({ kind: 'round-robin' })
      .describe('which servers each client speaks with in a round'),
    localSteps: every(1, 'rounds'),
    carry: z
      .boolean()
      .default(true)
      .describe(
        'clients send to the servers of their next round, so that models wander; false: to those they began with',
      ),
    gamma: z.number().gt(0).max(1).default(1).describe('how far a server moves to the mean of what it is sent'),
    reach: z
      .union([z.int().min(1), z.array(z.array(z.int().min(0)).min(1)).min(1)])
      .optional()
      .describe(
        'servers that each client can speak with, from 0: a list for each client, or a number: client k reaches k mod servers and those that follow; all by default',
      ),
  },
  needs: [],
  hasServers: true,
  step: () => 'x = x - eta*T(grad(x)); every localSteps { x = up(x); x = W(x); x = down(x) }',
});
