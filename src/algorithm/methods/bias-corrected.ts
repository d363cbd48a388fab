import { method } from '../method.ts';

export const d2 = method({
  name: 'd2',
  aliases: ['d-squared'],
  title: 'D²',
  summary: 'removes what the difference of the data adds to the error',
  paper: 'Tang, Lian, Yan, Zhang, Liu, D²: decentralized training over decentralized data, ICML 2018',
  settings: {},
  rows: { c: 'zero' },
  needs: ['symmetric', 'static', 'above -1/3'],
  step: () => `
    x = x - eta*T(grad(x)) + c
    v = pull(x)
    c = c + v
    x = x + v`,
});

export const exactDiffusion = method({
  name: 'exact-diffusion',
  title: 'Exact diffusion',
  summary: 'D² with half of each replica kept: for any symmetric weights',
  paper: 'Yuan, Ying, Zhao, Sayed, Exact diffusion for distributed optimization and learning, IEEE TSP 2019',
  settings: {},
  rows: { c: 'zero' },
  needs: ['symmetric', 'static'],
  step: () => `
    x = x - eta*T(grad(x)) + c
    v = pull(x)/2
    c = c + v
    x = x + v`,
});

export const extra = method({
  name: 'extra',
  title: 'EXTRA',
  summary: 'exact first-order method: adds up the differences to the neighbours',
  paper: 'Shi, Ling, Wu, Yin, EXTRA, SIAM J. Optim. 2015',
  settings: {},
  rows: { c: 'zero' },
  needs: ['symmetric', 'static'],
  step: () => `
    g = grad(x)
    v = pull(x)
    x = x + v - eta*g + c
    c = c + v/2`,
});
