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
  needs: ['static'],
  step: () => `
    h += C(x - h)
    x = x - h + A(h)
    y = A(y)
    z = x/y
    x = x - eta*grad(z)`,
});
