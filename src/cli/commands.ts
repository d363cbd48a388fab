import type { Command } from 'commander';

interface Row {
  readonly summary: string;
  /** Loaded only when asked for, so that `dbench --help` answers at once. */
  load(): Promise<{ command(): Command | Promise<Command> }>;
}

/** All commands, in the order in which help lists them. */
export const commands: Readonly<Record<string, Row>> = {
  run: { summary: 'train what an experiment file describes, or resume a run', load: () => import('./run.ts') },
  compare: {
    summary: 'run the variants of an experiment; the quickstart by default',
    load: () => import('./compare.ts'),
  },
  experiments: {
    summary: 'list the experiments that come with DBench, or print one',
    load: () => import('./experiments.ts'),
  },
  runs: { summary: 'list the runs that are stored, or remove some', load: () => import('./runs.ts') },
  show: { summary: 'one run: results, cost, machine, settings', load: () => import('./show.ts') },
  query: { summary: 'ask all runs a question in SQL', load: () => import('./query.ts') },
  report: {
    summary: 'what runs tell together: results, variance ranks, correlations, the observations',
    load: () => import('./report.ts'),
  },
  export: {
    summary: 'take a trained model away: safetensors, ONNX, a model card',
    load: () => import('./export.ts'),
  },
  serve: {
    summary: 'a page that follows all runs, shows the network, starts and stops',
    load: () => import('./serve.ts'),
  },
  topology: {
    summary: 'what a communication topology offers, before any training',
    load: () => import('./topology.ts'),
  },
  algorithm: {
    summary: 'the methods there are: formulas, what they keep, send and need',
    load: () => import('./algorithm.ts'),
  },
  schedule: {
    summary: 'which devices hold which stage of a model too large for one',
    load: () => import('./schedule.ts'),
  },
  network: {
    summary: 'how long a step takes on a network, before any training',
    load: () => import('./network.ts'),
  },
  validate: { summary: 'check an experiment file and show it with all defaults', load: () => import('./validate.ts') },
  schema: { summary: 'print the JSON Schema of experiment files, for editors', load: () => import('./schema.ts') },
  data: { summary: 'data sets: list, get, verify, and how one is dealt to replicas', load: () => import('./data.ts') },
  model: { summary: 'the tensors of a model; its training step as an ONNX file', load: () => import('./model.ts') },
  bench: {
    summary: 'what this machine reaches, against a yardstick in the same run',
    load: () => import('./bench.ts'),
  },
  doctor: { summary: 'what this machine offers', load: () => import('./doctor.ts') },
};
