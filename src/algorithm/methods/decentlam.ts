import { method } from '../method.ts';
import { momentum } from '../settings.ts';

export const decentLam = method({
  name: 'decentlam',
  title: 'DecentLaM',
  summary: 'momentum of gradient and averaging together, which removes the bias of local momentum',
  paper: 'Yuan et al., DecentLaM: decentralized momentum SGD for large-batch deep training, ICCV 2021',
  settings: { beta: momentum() },
  rows: { m: 'zero' },
  needs: ['doubly'],
  step: () => `
    m = beta*m + (x - W(x - eta*grad(x)))/eta
    x = x - eta*m`,
});
