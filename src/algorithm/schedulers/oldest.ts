import { z } from 'zod';
import { chosenAtHome, scheduler } from '../scheduler.ts';

export const oldest = scheduler({
  name: 'oldest',
  summary: 'each server with those of its clients that have rested longest',
  settings: { clients: z.int().min(1).default(1).describe('clients of each server') },
  period: () => Number.POSITIVE_INFINITY,
  schedule: (gathering, { clients }) =>
    chosenAtHome(gathering, (those) =>
      those.toSorted((a, b) => gathering.last[a]! - gathering.last[b]! || a - b).slice(0, clients),
    ),
});
