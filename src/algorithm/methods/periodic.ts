import { z } from 'zod';
import { method } from '../method.ts';
import { every, momentum, positive, share } from '../settings.ts';

const local = 'x = x - eta*T(grad(x))';

/**
 * All go on from their mean a, and with the mean of the momentum that brought them there from c, where all were last; `rates` is the sum of learning
 * rates since. Nobody has to send it.
 */
export const goOn = (a: string) => `momentum = (c - ${a})/rates; x = ${a}; c = ${a}`;

export const localSgd = method({
  name: 'local-sgd',
  title: 'Local SGD',
  summary: 'steps alone and averages exactly with all every few steps',
  paper: 'Stich, Local SGD converges fast and communicates little, ICLR 2019',
  settings: {
    period: every(8, 'averagings'),
    growth: z
      .number()
      .min(0)
      .default(0)
      .describe('the period grows with this power of highest / current learning rate: 2 is the quadratic rule, QSR'),
    after: z
      .array(z.int().min(1))
      .min(1)
      .optional()
      .describe('average after just these numbers of steps instead: a schedule to be replayed'),
    commonMomentum: z
      .boolean()
      .default(false)
      .describe('go on with the mean momentum after an average, which costs no bytes'),
  },
  rows: { c: 'x' },
  numbers: { rates: 0, since: 0, peak: 0 },
  needs: [],
  step: ({ growth, after, commonMomentum }) => {
    const grows = after === undefined && growth > 0;
    const condition =
      after !== undefined
        ? `at ${after.join(', ')}`
        : grows
          ? 'if since + 1 >= period*(max(peak, eta)/eta)^growth'
          : 'every period';
    const counted = [
      ...(commonMomentum ? ['rates = rates + eta'] : []),
      ...(grows ? ['since = since + 1; peak = max(peak, eta)'] : []),
    ];
    const average = commonMomentum ? `a = mean(x); ${goOn('a')}; rates = 0` : 'x = mean(x)';
    return `${[local, ...counted].join('; ')}; ${condition} { ${average}${grows ? '; since = 0' : ''} }`;
  },
});

export const gossipPga = method({
  name: 'gossip-pga',
  title: 'Gossip-PGA',
  summary: 'averages with the neighbours, and exactly with all every few steps',
  paper: 'Chen et al., Accelerating gossip SGD with periodic global averaging, ICML 2021',
  settings: { period: every(48, 'exact averages') },
  needs: ['doubly'],
  step: () => `${local}; every period { x = mean(x) } else { x = W(x) }`,
});

export const slowMo = method({
  name: 'slowmo',
  title: 'SlowMo',
  summary: 'local SGD with a slow momentum over the averages',
  paper: 'Wang, Tantia, Ballas, Rabbat, SlowMo, ICLR 2020',
  settings: {
    period: every(48, 'averagings'),
    beta: momentum(0.5),
    alpha: positive(1).describe('scale of the slow step'),
  },
  rows: { a: 'x', u: 'zero' },
  needs: [],
  step: () => `
    ${local}
    every period {
      s = mean(x)
      u = beta*u + (a - s)/eta
      a = a - alpha*eta*u
      x = a
    }`,
});

export const diLoCo = method({
  name: 'diloco',
  title: 'DiLoCo',
  summary: 'hundreds of steps alone, then a Nesterov step along the mean of the movements',
  paper: 'Douillard et al., DiLoCo: distributed low-communication training of language models, arXiv 2311.08105, 2023',
  settings: {
    period: every(500, 'averagings'),
    rho: positive(0.7).describe('learning rate of the outer step'),
    mu: momentum(),
  },
  rows: { a: 'x', m: 'zero' },
  needs: [],
  step: () => `
    ${local}
    every period {
      s = a - mean(x)
      m = mu*m + s
      a = a - rho*(s + mu*m)
      x = a
    }`,
});

export const noLoCo = method({
  name: 'noloco',
  title: 'NoLoCo',
  summary: 'DiLoCo without an all-reduce: the outer step goes by the neighbours',
  paper:
    'Kolehmainen et al., NoLoCo: no-all-reduce low communication training method for large models, arXiv 2506.10911, 2025',
  settings: {
    period: every(50, 'averagings'),
    rho: positive(0.7).describe('learning rate of the outer step'),
    mu: share(0.5).describe('share of the outer momentum that is kept'),
  },
  rows: { a: 'x', m: 'zero' },
  needs: ['doubly'],
  step: () => `
    ${local}
    every period {
      m = mu*m + rho*(W(x) - a)
      a = a + m
      x = a
    }`,
});

export const dFedAvgM = method({
  name: 'dfedavgm',
  title: 'DFedAvgM',
  summary: 'several steps with momentum, then one average with the neighbours; momentum starts anew',
  paper: 'Sun, Li, Wang, Decentralized federated averaging, IEEE TPAMI 2023',
  settings: { period: every(4, 'averagings'), beta: momentum() },
  rows: { m: 'zero' },
  needs: ['doubly'],
  step: () => 'm = beta*m + grad(x); x = x - eta*m; every period { x = W(x); m = 0 }',
});

export const dFedAvg = method({
  ...dFedAvgM,
  name: 'dfedavg',
  title: 'DFedAvg',
  summary: 'several steps without momentum, then one average with the neighbours',
  settings: { ...dFedAvgM.settings, beta: momentum(0) },
});

export const dFedSam = method({
  name: 'dfedsam',
  title: 'DFedSAM',
  summary: 'DFedAvgM with gradients at the sharpest point nearby',
  paper: 'Shi et al., Improving the model consistency of decentralized federated learning, ICML 2023',
  settings: {
    period: every(4, 'averagings'),
    beta: momentum(),
    rho: z.number().min(0).default(0.05).describe('how far away the sharpest point is looked for'),
    adaptive: z.boolean().default(false).describe('measure that distance relative to each parameter'),
  },
  rows: { m: 'zero' },
  needs: ['doubly'],
  step: ({ adaptive }) => `
    g = grad(x)
    ${adaptive ? 's = x + rho*x*x*g/(norm(abs(x)*g) + 1e-12)' : 's = x + rho*g/(norm(g) + 1e-12)'}
    m = beta*m + again(s)
    x = x - eta*m
    every period { x = W(x); m = 0 }`,
});
