import { describe, expect, it } from 'vitest';
import { quantile } from '../../src/base/statistics.ts';
import { noOneDnn } from '../backends.ts';
import { errors } from './errors.ts';

describe.skipIf(noOneDnn !== undefined)(`oneDNN against float64${noOneDnn ? ` (${noOneDnn})` : ''}`, () => {
  it('mlp: every tensor within 1e-5', async () => {
    expect(Math.max(...(await errors({ kind: 'mlp' }, [784], 32)))).toBeLessThan(1e-5);
  });

  it('resnet20 as it starts: every tensor within 1e-5', async () => {
    expect(Math.max(...(await errors({ kind: 'resnet20' }, [3, 8, 8], 4)))).toBeLessThan(1e-5);
  });

  it('resnet20 with every ReLU off zero, where gradients nearly cancel: every tensor within 1e-3, 3e-5 in the median', async () => {
    const distances = await errors({ kind: 'resnet20' }, [3, 8, 8], 4, 6);
    expect(Math.max(...distances)).toBeLessThan(1e-3);
    expect(quantile(distances, 0.5)).toBeLessThan(3e-5);
  });
});
