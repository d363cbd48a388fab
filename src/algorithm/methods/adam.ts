import { method } from '../method.ts';
import { consensusStep, every, share, small } from '../settings.ts';

const moments = {
  beta1: share(0.9).describe('memory of the gradient'),
  beta2: share(0.999).describe('memory of its square'),
};
const step = 'g = grad(x); m = beta1*m + (1 - beta1)*g; v = beta2*v + (1 - beta2)*g*g';

export const dAdam = method({
  name: 'd-adam',
  title: 'D-Adam',
  summary: 'Adam without bias correction on each replica, averaged every few steps',
  paper: 'Gao, Huang, Adaptive serverless learning, arXiv 2008.10422, 2020',
  settings: { ...moments, tau: small(1e-8), period: every(1, 'averagings') },
  rows: { m: 'zero', v: 'zero' },
  needs: ['doubly'],
  step: () => `${step}; x = x - eta*m/(sqrt(v) + tau); every period { x = W(x) }`,
});

export const cdAdam = method({
  name: 'cd-adam',
  title: 'CD-Adam',
  summary: 'D-Adam with compressed messages',
  paper: 'Gao, Huang, Adaptive serverless learning, arXiv 2008.10422, 2020',
  settings: { ...moments, tau: small(1e-8), period: every(1, 'averagings'), gamma: consensusStep(0.4) },
  rows: { m: 'zero', v: 'zero', h: 'zero' },
  compresses: true,
  needs: ['symmetric', 'static'],
  step: () => `
    ${step}
    x = x - eta*m/(sqrt(v) + tau)
    every period {
      x = x + gamma*pull(h)
      h += C(x - h)
    }`,
});

export const dadam = method({
  name: 'dadam',
  title: 'DADAM',
  summary: 'Adam whose step never grows back quickly, around the average with the neighbours',
  paper: 'Nazari, Tarzanagh, Michailidis, DADAM, arXiv 1901.09109, 2019',
  settings: { ...moments, beta3: share(0.9).describe('memory of the largest second moment'), epsilon: small(1e-4) },
  rows: { m: 'zero', v: 'zero', w: 'zero' },
  needs: ['doubly'],
  step: () => `
    ${step}
    w = beta3*w + (1 - beta3)*max(w, v/(1 - beta2^(t + 1)))
    x = W(x) - eta*(m/(1 - beta1^(t + 1)))/(sqrt(w) + epsilon)`,
});

export const damsGrad = method({
  ...dadam,
  name: 'damsgrad',
  title: 'DAMSGrad',
  summary: 'DADAM whose step never grows back',
  settings: { ...dadam.settings, beta3: share(0).describe('memory of the largest second moment') },
});
