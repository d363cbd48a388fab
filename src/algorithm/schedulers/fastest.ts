import { z } from 'zod';
import { aloneNs, chosenAtHome, scheduler } from '../scheduler.ts';

export const fastest = scheduler({
  name: 'fastest',
  summary: 'each server with those of its clients that are predicted to be done first; the others rest',
  settings: { clients: z.int().min(1).default(1).describe('clients of each server') },
  byTime: true,
  schedule: (gathering, { clients }) =>
    chosenAtHome(gathering, (those, server) =>
      those
        .toSorted((a, b) => aloneNs(gathering.times!, a, server) - aloneNs(gathering.times!, b, server) || a - b)
        .slice(0, clients),
    ),
});
