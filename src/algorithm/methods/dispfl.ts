import { z } from 'zod';
import { method } from '../method.ts';
import { every } from '../settings.ts';

/** Each replica has a mask of its own (masks.ts); a parameter is averaged over those who have it. */
export const disPfl = method({
  name: 'dispfl',
  title: 'DisPFL',
  summary:
    'sparse models, each replica with a mask of its own: parameters are averaged over those who have them, and masks change from round to round',
  paper:
    'Dai, Shen, He, Tian, Tao, DisPFL: towards communication-efficient personalized federated learning via decentralized sparse training, ICML 2022',
  settings: {
    period: every(4, 'averagings'),
    density: z.number().gt(0).max(1).default(0.5).describe('share of the parameters that a replica has'),
    alpha: z.number().min(0).max(1).default(0.5).describe('share of them that is replaced in the first round'),
    rounds: z.int().min(1).default(100).describe('after which no more are replaced; best as many as the run has'),
  },
  rows: { mask: 'zero' },
  needs: [],
  step: () => `
    first {
      mask = erk(x)
      x = mask*x
    }
    g = grad(x); x = x - eta*T(g); x = mask*x
    every period {
      mask = regrow(mask, x, again(x))
      b = bits(mask)
      s = within(x, b)
      c = W(b)
      s = W(s)
      x = mask*s/max(c, 1e-9)
    }`,
});
