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
    d = T(grad(x))
    s = W(x - eta*d + c)
    c = s - x + eta*d
    x = s`,
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
    d = T(grad(x))
    s = x - eta*d + c
    s = (s + W(s))/2
    c = s - x + eta*d
    x = s`,
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
    s = W(x)
    k = x
    x = s - eta*g + c
    c = c + (s - k)/2`,
});
