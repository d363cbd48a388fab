import { describe, expect, it } from 'vitest';
import { countAxis, extent, logTicks, seconds, signed, tick } from './axis.ts';

describe('axes', () => {
  it('have round ticks on a logarithmic scale, few however many powers there are', () => {
    expect(logTicks(0.0004, 0.04)).toEqual([0.001, 0.003, 0.01, 0.03]);
    expect(logTicks(1.5, 60)).toEqual([2, 5, 10, 20, 50]);
    expect(logTicks(1e-12, 1e6).length).toBeLessThanOrEqual(10);
    expect(logTicks(2e-4, 0.05).map(tick)).toEqual(['3e-4', '0.001', '0.003', '0.01', '0.03']);
  });

  it('write numbers short', () => {
    expect([0, 3 * 10 ** -4, 0.001, 1234, 2.5e-7, 3e8].map(tick)).toEqual([
      '0',
      '3e-4',
      '0.001',
      '1,234',
      '2.5e-7',
      '3e8',
    ]);
    expect([1.234, 119, 150, 9000].map(seconds)).toEqual(['1.23 s', '119 s', '2.5 min', '2.5 h']);
    expect([-1, 0.5].map(signed)).toEqual(['−1.00', '0.50']);
  });

  it('count in powers of two where counts differ much', () => {
    expect(countAxis([2, 6, 63])).toMatchObject({ type: 'log', domain: [2, 64], ticks: [2, 4, 8, 16, 32, 64] });
    expect(countAxis([2, 4]).type).toBeUndefined();
    expect(countAxis([0, 63]).type).toBeUndefined();
  });

  it('span the values, also very many', () => {
    expect(extent([])).toBeUndefined();
    expect(extent(Array.from({ length: 300_000 }, (_, i) => i - 5))).toEqual([-5, 299_994]);
  });
});
