import { method } from '../method.ts';

export const sgp = method({
  name: 'sgp',
  aliases: ['push-sum', 'stochastic-gradient-push'],
  title: 'SGP',
  summary: 'push-sum: works on directed topologies; each replica keeps the weight it has received',
  paper: 'Assran, Loizou, Ballas, Rabbat, Stochastic gradient push, ICML 2019',
  settings: {},
  numbers: { y: 1 },
  model: 'x/y',
  needs: [],
  step: () => 'x = x - eta*T(grad(x/y)); x = A(x); y = A(y)',
});

/**
 * Running sums: the sender counts in all that it ever shared, the receiver takes what it has not yet heard of it, so that nothing is lost, only late.
 * p is what is on its way over an edge, the total that was sent less the last total that was heard: the same number, but it does not grow.
 */
export const robustPushSum = method({
  name: 'robust-push-sum',
  aliases: ['running-sums'],
  title: 'Robust push-sum',
  summary: 'push-sum by running sums: what a lost message held comes with the next one',
  paper:
    'Hadjicostis, Vaidya, Domínguez-García, Robust distributed average consensus via exchange of running sums, IEEE TAC 2016; SGP with it',
  settings: {},
  numbers: { y: 1 },
  edges: { of: 'heard', rows: { p: 'zero' }, numbers: { q: 0 } },
  model: 'x/y',
  needs: ['static'],
  step: () => `
    x = x - eta*T(grad(x/y))
    p = p + weight*over(x)
    q = q + weight*over(y)
    x = share*x + sum(heard*p)
    y = share*y + sum(heard*q)
    p = p - heard*p
    q = q - heard*q`,
});

export const quantizedPushSum = method({
  name: 'quantized-push-sum',
  aliases: ['qps'],
  title: 'Quantized push-sum',
  summary: 'push-sum with compressed messages',
  paper:
    'Taheri, Mokhtari, Hassani, Pedarsani, Quantized decentralized stochastic learning over directed graphs, ICML 2020',
  settings: {},
  rows: { h: 'zero' },
  numbers: { y: 1 },
  model: 'z',
  compresses: true,
  needs: ['static'],
  step: () => `
    h += C(x - h)
    x = x - h + A(h)
    y = A(y)
    z = x/y
    x = x - eta*grad(z)`,
});
