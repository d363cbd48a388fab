import { aws } from '../presets/aws.ts';
import type { ScheduleGiven } from './settings.ts';

/** A problem of scheduling that was published, by name. */
export interface ScheduleCase {
  readonly name: string;
  readonly summary: string;
  readonly problem: ScheduleGiven;
}

const devices = 64;
const stages = 8;

/** GPT-3 XL as DT-FM divides it: gradients of a stage, activations of a batch. */
const sizes = { gradients: '650MB', activations: '471.2492MB' };

type Link = readonly [ms: number, gigabits: number];

/** Latencies as they are: the published scheduler takes round trips for them. */
const matrixOf = (between: (a: number, b: number) => Link): ScheduleGiven => {
  const table = (value: (link: Link) => number) =>
    Array.from({ length: devices }, (_, a) =>
      Array.from({ length: devices }, (_, b) => (a === b ? 0 : value(between(Math.min(a, b), Math.max(a, b))))),
    );
  const network = {
    kind: 'matrix',
    latencies: { unit: 'ms', values: table(([ms]) => ms) },
    rates: { unit: 'Gb/s', values: table(([, gigabits]) => gigabits) },
  };
  return { network, devices, stages, ...sizes };
};

/** Between Virginia, Oregon, California and Ohio. */
const fourRegions: Readonly<Record<string, Link>> = {
  '01': [67, 1.15],
  '02': [59, 1.05],
  '03': [11, 1.12],
  '12': [12, 1.25],
  '13': [49, 1.1],
  '23': [52, 1.02],
};

const eightRegions = ['Oregon', 'Virginia', 'Ohio', 'Tokyo', 'Seoul', 'London', 'Frankfurt', 'Ireland'];

/** The five networks of DT-FM, 64 devices each, from its public code (DS3Lab/DT-FM). */
export const cases: readonly ScheduleCase[] = [
  {
    name: 'dtfm-0',
    summary: 'a data centre: eight machines of eight devices',
    problem: matrixOf((a, b) => [0, a >> 3 === b >> 3 ? 100 : 3.125]),
  },
  {
    name: 'dtfm-1',
    summary: 'spot instances: eight machines of four devices, 32 devices alone',
    problem: matrixOf((a, b) => [0, b < 32 && a >> 2 === b >> 2 ? 100 : 1.25]),
  },
  {
    name: 'dtfm-2',
    summary: 'two sites of one region',
    problem: matrixOf((a, b) => (a >> 5 === b >> 5 ? [1, 5] : [11, 1.12])),
  },
  {
    name: 'dtfm-3',
    summary: 'four regions of one country',
    problem: matrixOf((a, b) => (a >> 4 === b >> 4 ? [5, 2] : fourRegions[`${a >> 4}${b >> 4}`]!)),
  },
  {
    name: 'dtfm-4',
    summary: 'eight regions around the globe',
    problem: { network: { ...aws.network, use: eightRegions }, roundTrips: true, devices, stages, ...sizes },
  },
];
