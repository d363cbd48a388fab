import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { sha256Of } from '../base/content.ts';
import { loadExperiment, resolve } from './experiment.ts';
import { runSchema } from './schema.ts';

const minimal = {
  name: 'timed',
  replicas: 8,
  data: { kind: 'synthetic' },
  model: { kind: 'mlp' },
  batch: 4,
  epochs: 2,
  learningRate: { base: 0.1 },
};
const resolved = (settings: object) => resolve({ ...minimal, ...settings }, 'timed')[0]!;
const compute = { compute: '20ms' };

const folder = mkdtempSync(join(tmpdir(), 'dbench-network-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('a network in an experiment', () => {
  it('is plain data, whether it is given by name, by settings or by a file', () => {
    const byName = resolved({ network: 'lan', devices: compute });
    expect(byName.network).toMatchObject({
      name: 'lan',
      kind: 'uniform',
      latency: '100us',
      rate: '1Gb/s',
      sharing: 'serial',
    });
    expect(byName.devices).toEqual(compute);
    expect(resolved({ network: { kind: 'lan' }, devices: compute }).network).toEqual(byName.network);
    const content =
      'name: lab\nnetwork: { kind: lan, rate: 2Gb/s }\ndevices: { compute: 3ms, each: [1, 1, 1, 1, 1, 1, 1, 2] }\n';
    writeFileSync(join(folder, 'lab.yaml'), content);
    const whole = (network: unknown) => {
      writeFileSync(join(folder, 'experiment.json'), JSON.stringify({ ...minimal, network, devices: compute }));
      return loadExperiment(join(folder, 'experiment.json'))[0]!;
    };
    for (const network of ['lab.yaml', { kind: 'file', path: 'lab.yaml', sha256: sha256Of(Buffer.from(content)) }]) {
      const byFile = whole(network);
      expect(byFile.network).toMatchObject({ name: 'lab', kind: 'uniform', latency: '100us', rate: '2Gb/s' });
      // What the experiment says is laid on top of what the file says.
      expect(byFile.devices).toMatchObject({ compute: '20ms', each: { length: 8 } });
    }
    expect(() => whole({ kind: 'file', path: 'lab.yaml', sha256: '0'.repeat(64) })).toThrow(/lab.yaml/);
    expect(() => whole('none.yaml')).toThrow(/cannot read the network file .*none\.yaml/);
  });

  it('has the devices of its preset unless others are given', () => {
    expect(resolved({ network: 'phones', devices: compute }).devices).toEqual({
      ...compute,
      noise: { kind: 'lognormal', sigma: 0.6 },
    });
    const constant = { ...compute, noise: { kind: 'constant' } };
    expect(resolved({ network: 'phones', devices: constant }).devices).toEqual(constant);
  });

  it('is stored and read again as it is', () => {
    for (const network of ['aws', { kind: 'summit', sharing: 'fair' }, { kind: 'silos', tcp: true }]) {
      const run = resolved({ network, devices: compute });
      expect(runSchema.parse(JSON.parse(JSON.stringify(run)))).toEqual(run);
    }
  });

  it('a measured time is kept', () => {
    const devices = { compute: 'measured', factor: 2, measured: '5ms' };
    expect(resolved({ network: 'lan', devices }).devices).toEqual(devices);
  });

  it('can be swept and varied by name', () => {
    const networks = ['lan', 'home'];
    const swept = resolve({ ...minimal, devices: compute, sweep: { network: networks } }, 'timed');
    const varied = resolve(
      { ...minimal, devices: compute, compare: networks.map((network) => ({ name: network, network })) },
      'timed',
    );
    for (const runs of [swept, varied]) expect(runs.map(({ network }) => network!.name)).toEqual(networks);
  });
});

describe('refuses', () => {
  const uniform = { kind: 'uniform', latency: '1ms', rate: '1Gb/s' };
  const matrix = (latencies: number[][], rates: number[][]) => ({
    kind: 'matrix',
    latencies: { unit: 'ms', values: latencies },
    rates: { unit: 'Gb/s', values: rates },
  });
  const two = [
    [0, 1],
    [1, 0],
  ];
  it.each([
    [
      'a matrix that is not square',
      { network: matrix([[0, 1], [1]], two) },
      /network: latencies: the matrix must be square; it has 2 rows, but row 1 has 1/,
    ],
    [
      'a negative latency',
      {
        network: matrix(
          [
            [0, -1],
            [1, 0],
          ],
          two,
        ),
      },
      /network: latencies: from 0 to 1 must be at least 0, got -1/,
    ],
    [
      'a rate of zero in a matrix',
      {
        network: matrix(two, [
          [0, 1],
          [0, 0],
        ]),
      },
      /network: rates: from 1 to 0 must be above 0, got 0/,
    ],
    ['matrices of different sizes', { network: matrix(two, [[0]]) }, /latencies are of 2 devices, rates of 1/],
    [
      'a network for another n',
      { network: matrix(two, two) },
      /network: the matrix network describes 2 devices, but there are 8 replicas; use 2 replicas/,
    ],
    [
      'more replicas than devices',
      { network: { kind: 'summit', machines: 1 } },
      /network: 1 machines of 6 devices have room for 6 replicas, not for 8/,
    ],
    ['a rate of zero', { network: { ...uniform, rate: '0Gb/s' } }, /network\.rate: a rate must be above 0, got 0Gb\/s/],
    [
      'a negative rate',
      { network: { ...uniform, rate: '-1Gb/s' } },
      /network\.rate: a rate must be above 0, got -1Gb\/s/,
    ],
    ['a rate without a unit', { network: { ...uniform, rate: '10' } }, /network\.rate: the rate 10 has no unit/],
    ['a latency without a unit', { network: { ...uniform, latency: 10 } }, /network\.latency: the time 10 has no unit/],
    [
      'a compute time without a unit',
      { network: uniform, devices: { compute: 20 } },
      /devices\.compute: the time 20 has no unit/,
    ],
    ['no compute time', { network: uniform, devices: {} }, /devices: the time of a step is missing; give compute/],
    [
      'two compute times',
      { network: uniform, devices: { ...compute, perSample: '1ms' } },
      /devices: give compute or perSample, not both/,
    ],
    [
      'a factor of nothing',
      { network: uniform, devices: { ...compute, factor: 2 } },
      /devices: factor is for compute: measured/,
    ],
    [
      'devices of another number',
      { network: uniform, devices: { compute: 'measured', each: [1] } },
      /devices\.each describes 1 devices, but there are 8/,
    ],
    [
      'a time beyond 2^53 ns',
      { network: { ...uniform, latency: '1e7s' } },
      /network\.latency: a time must be at most 104 days/,
    ],
    [
      'a compute time beyond it',
      { network: uniform, devices: { compute: '1e7s' } },
      /devices\.compute: a time must be at most 104 days/,
    ],
    ['a typo', { network: 'sumit' }, /network\.kind: "sumit" is not a known kind; did you mean "summit"/],
    ['something else', { network: 5 }, /network: must be a group of settings, got 5/],
  ])('%s', (_, settings, message) => {
    expect(() => resolved({ devices: compute, ...settings })).toThrow(message);
  });

  it('time without a network', () => {
    expect(() => resolved({ until: { virtualSeconds: 1 } })).toThrow(/until: there is no time without a network/);
  });
});
