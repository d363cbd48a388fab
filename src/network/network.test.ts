import { describe, expect, it } from 'vitest';
import { UserError } from '../base/error.ts';
import { baseNs, computeTimes, devicesOf } from './devices.ts';
import { kilometres } from './kinds/distance.ts';
import { buildNetwork, findPreset, type NetworkSettings, namedNetwork, resolvedNetwork } from './network.ts';
import { presets } from './presets.ts';
import { rateText, timeText } from './text.ts';
import { bytesPerSecond, nanoseconds, transferNs } from './units.ts';

describe('units', () => {
  it('bits are not bytes', () => {
    expect(bytesPerSecond('10Gb/s')).toBe(1.25e9);
    expect(bytesPerSecond('23 GB/s')).toBe(23e9);
    expect(nanoseconds('20us')).toBe(20_000);
    expect(nanoseconds('.5ms')).toBe(500_000);
    expect(transferNs(1000, bytesPerSecond('50GB/s'))).toBe(20);
  });

  it('reads as people write', () => {
    expect([timeText(1_763_834), timeText(20_000), timeText(9e9), timeText(0)]).toEqual([
      '1.764 ms',
      '20 µs',
      '9 s',
      '0 ns',
    ]);
    expect([rateText(1.25e9), rateText(48_000)]).toEqual(['10 Gb/s', '384 kb/s']);
  });
});

const uniform = { kind: 'uniform', latency: '1ms', rate: '1Gb/s' };
const square = (n: number, value: number) => Array.from({ length: n }, () => new Array(n).fill(value));
const matrix = (latencies: number[][], rates: number[][]): NetworkSettings => ({
  kind: 'matrix',
  latencies: { unit: 'ms', values: latencies },
  rates: { unit: 'Gb/s', values: rates },
});

describe('mistakes are told in one sentence', () => {
  const build = (given: NetworkSettings, n = 4) => {
    try {
      buildNetwork(given, n);
    } catch (error) {
      expect(error).toBeInstanceOf(UserError);
      return (error as UserError).message;
    }
    throw new Error('was accepted');
  };

  it.each([
    ['a matrix that is not square', matrix([[0, 1], [1]], square(2, 1)), /square; it has 2 rows, but row 1 has 1/],
    ['a matrix for another n', matrix(square(2, 1), square(2, 1)), /describes 2 devices, but there are 4 replicas/],
    ['two sizes', matrix(square(4, 1), square(3, 1)), /latencies are of 4 devices, rates of 3/],
    ['a negative latency in a matrix', matrix(square(4, -1), square(4, 1)), /from 0 to 1 must be at least 0, got -1/],
    ['a rate of zero in a matrix', matrix(square(4, 1), square(4, 0)), /from 0 to 1 must be above 0, got 0/],
    [
      'a latency beyond 2^53 ns in a matrix',
      { ...matrix(square(2, 1), square(2, 1)), latencies: { unit: 's', values: square(2, 1e10) } },
      /latencies: from 0 to 1 must be at most 104 days \(2\^53 ns\), got 10000000000s/,
    ],
    ['a negative rate', { ...uniform, rate: '-1Gb/s' }, /rate: a rate must be above 0, got -1Gb\/s/],
    ['a rate of zero', { ...uniform, rate: '0Gb/s' }, /above 0, got 0Gb\/s/],
    ['a negative time', { ...uniform, latency: '-1ms' }, /at least 0, got -1ms/],
    ['a rate without unit', { ...uniform, rate: '10' }, /the rate 10 has no unit; write it as in 10Gb\/s/],
    ['a plain number', { ...uniform, latency: 5 }, /the time 5 has no unit; write it as in 20us/],
    ['an unknown unit', { ...uniform, rate: '10Gbps' }, /"Gbps" is no unit of a rate; use one of: b\/s/],
    ['no number', { ...uniform, rate: 'fast' }, /"fast" is no rate/],
    ['no rate at all', { kind: 'uniform', latency: '1ms' }, /needs a rate/],
    ['a time beyond 2^53 ns', { ...uniform, latency: '1e10s' }, /at most 104 days/],
    ['an unknown setting', { ...uniform, speed: 1 }, /unknown setting "speed"/],
    ['an unknown kind', { kind: 'ethernet' }, /is not a known kind/],
    ['an unknown region', { kind: 'aws', use: ['Oregn'] }, /there is no region "Oregn"; did you mean "Oregon"/],
    ['too many replicas', { kind: 'summit', machines: 1, devices: 2 }, /room for 2 replicas, not for 4/],
    [
      'a missing link',
      { kind: 'aws', between: [] },
      /there is no link of Oregon and Sydney|there is no link of Oregon and/,
    ],
  ] as const)('%s', (_, given, message) => {
    expect(build(given as unknown as NetworkSettings)).toMatch(message);
  });

  it('a name that nobody knows', () => {
    expect(() => namedNetwork('sumit')).toThrow(/no network "sumit"/);
  });

  it('a device without a compute time, or with two', () => {
    expect(() => baseNs(devicesOf(undefined, {}), 32)).toThrow(/time of a step is missing/);
    expect(() => baseNs(devicesOf(undefined, { compute: '1ms', perSample: '1ms' }), 32)).toThrow(/not both/);
    expect(() => devicesOf(undefined, { compute: '20' })).toThrow(/the time 20 has no unit/);
    expect(() =>
      computeTimes(devicesOf(undefined, { compute: '1ms', each: [1] }), { n: 2, seed: 1, batch: 1 }),
    ).toThrow(/describes 1 devices, but there are 2/);
  });
});

describe('presets', () => {
  it.each(presets.map(({ name }) => name))('%s is whole, and can be changed', (name) => {
    const network = buildNetwork({ kind: name }, 12);
    for (const [from, to] of [
      [0, 11],
      [3, 2],
    ] as const) {
      const { latencyNs, rate, up, down } = network.way(from, to);
      expect(Number.isSafeInteger(latencyNs)).toBe(true);
      expect(Math.min(rate, network.upRates[up]!, network.downRates[down]!)).toBeGreaterThan(1e4);
    }
    expect(resolvedNetwork({ kind: name, sharing: 'fair', efficiency: 0.5 })).toMatchObject({
      kind: findPreset(name)!.network.kind,
      sharing: 'fair',
      efficiency: 0.5,
    });
  });

  it('goes by other names', () => {
    expect(findPreset('phones')!.name).toBe('4g');
    expect(namedNetwork('nvlink')).toEqual({ kind: 'a100' });
  });

  it('TCP takes longer, efficiency takes its share', () => {
    const [plain, tcp] = [false, true].map((on) => buildNetwork({ ...uniform, tcp: on }, 2));
    expect(tcp!.way(0, 1).latencyNs).toBe(Math.round(plain!.way(0, 1).latencyNs * 13.01));
    expect(tcp!.upRates[0]).toBeCloseTo(0.97 * plain!.upRates[0]!, 6);
    expect(buildNetwork({ kind: 'summit' }, 12).upRates[12]).toBeCloseTo(0.7 * 23e9, 3);
  });

  it('latency grows with the distance', () => {
    const [paris, newYork] = [
      { latitude: 48.8566, longitude: 2.3522 },
      { latitude: 40.7128, longitude: -74.006 },
    ];
    expect(kilometres(paris, newYork)).toBeGreaterThan(5820);
    expect(kilometres(paris, newYork)).toBeLessThan(5850);
    const { latencyNs } = buildNetwork({ kind: 'silos' }, 11).way(0, 1);
    expect(latencyNs / 1e6).toBeGreaterThan(4 + 0.0085 * 3500);
    expect(latencyNs / 1e6).toBeLessThan(4 + 0.0085 * 4100);
  });
});

describe('devices', () => {
  const of = (settings: object, n = 4000) =>
    computeTimes(devicesOf(undefined, { compute: '10ms', ...settings }), { n, seed: 3, batch: 8 });
  const mean = (times: (i: number, t: number) => number, t = 0) =>
    Array.from({ length: 4000 }, (_, i) => times(i, t)).reduce((a, b) => a + b, 0) / 4000 / 1e6;

  it('have the mean that their noise says', () => {
    expect(of({})(5, 9)).toBe(10e6);
    expect(mean(of({ noise: { kind: 'exponential', mean: 0.5 } }))).toBeCloseTo(15, 0);
    expect(mean(of({ noise: { kind: 'lognormal', sigma: 0.6 } }))).toBeCloseTo(10, 0);
    expect(mean(of({ slow: { kind: 'steps', probability: 0.25, factor: 5 } }))).toBeCloseTo(20, -0.5);
    expect(mean(of({ slow: { kind: 'devices', share: 0.25, factor: 5 } }))).toBe(20);
  });

  it('slow devices stay slow, and a trace repeats from a place of its own', () => {
    const slow = of({ slow: { kind: 'devices', share: 0.5, factor: 2 } }, 10);
    expect(Array.from({ length: 10 }, (_, i) => slow(i, 0))).toEqual(Array.from({ length: 10 }, (_, i) => slow(i, 7)));
    const trace = of({ noise: { kind: 'trace', factors: [1, 2, 4] } });
    expect([trace(3, 0), trace(3, 1), trace(3, 2)].sort((a, b) => a - b)).toEqual([10e6, 20e6, 40e6]);
    expect(trace(3, 0)).toBe(trace(3, 3));
    expect(new Set(Array.from({ length: 20 }, (_, i) => trace(i, 0))).size).toBe(3);
  });

  it('takes the time of a sample, and of each device', () => {
    const times = computeTimes(devicesOf({ noise: { kind: 'constant' } }, { perSample: '1ms', each: [1, 3] }), {
      n: 2,
      seed: 1,
      batch: 8,
    });
    expect([times(0, 0), times(1, 0)]).toEqual([8e6, 24e6]);
  });
});
