import { Random } from '../../base/random.ts';
import { scheduler } from '../scheduler.ts';

export const random = scheduler({
  name: 'random',
  summary: 'every client with one server that it reaches, drawn anew each round',
  settings: {},
  period: () => Number.POSITIVE_INFINITY,
  schedule: ({ reach, seed, round }) =>
    reach.map((own, k) => [own[new Random(seed, 'schedule', k, round).below(own.length)]!]),
});
