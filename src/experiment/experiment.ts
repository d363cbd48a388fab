import { LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import { UserError } from '../base/error.ts';
import { readText } from '../base/file.ts';
import { problemError, problemsOf } from '../base/schema.ts';
import { topologyAt } from '../topology/schedule.ts';
import { buildTopology } from '../topology/topology.ts';
import { type Experiment, experimentSchema, runSchema } from './schema.ts';

type Data = { [key: string]: unknown };

const isData = (value: unknown): value is Data => typeof value === 'object' && value !== null && !Array.isArray(value);

/** `over` laid on top of `base`, group by group; a group whose `kind` changes is replaced as a whole. */
export function merge(base: unknown, over: unknown): unknown {
  if (!isData(base) || !isData(over) || (over.kind !== undefined && over.kind !== base.kind)) return over;
  const merged: Data = { ...base };
  for (const [key, value] of Object.entries(over)) merged[key] = key in base ? merge(base[key], value) : value;
  return merged;
}

/** Reads YAML or JSON; mistakes are reported with file and line. */
export function parseText(text: string, where: string): unknown {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const problem = document.errors[0];
  if (problem !== undefined)
    throw new UserError(`${where}:${lines.linePos(problem.pos[0]).line}: ${problem.message}`, {
      hint: 'the file must be YAML or JSON',
    });
  return document.toJS();
}

/** Sets `a.b[0].c=value` of `--set`; the value is read as YAML, so numbers, lists and true/false work. */
export function override(data: unknown, assignment: string): unknown {
  const equals = assignment.indexOf('=');
  const path = assignment.slice(0, equals).trim();
  if (equals < 1 || !/^[\w-]+(\.[\w-]+|\[\d+\])*$/.test(path))
    throw new UserError(`--set ${assignment}: expected path=value`, {
      hint: 'as in --set topology.kind=torus or --set compare[0].name=a',
    });
  const keys = path.replaceAll(/\[(\d+)\]/g, '.$1').split('.');
  const value = parseText(assignment.slice(equals + 1), `--set ${path}`);
  const set = (at: unknown, [key, ...rest]: readonly string[]): unknown => {
    if (key === undefined) return value;
    if (Array.isArray(at)) {
      if (!(Number(key) < at.length))
        throw new UserError(`--set ${path}: the list has no item ${key}, only ${at.length} items`);
      return at.with(Number(key), set(at[Number(key)], rest));
    }
    const group = isData(at) ? at : {};
    const next = set(group[key], rest);
    // Another kind has other settings: those of the old one go, as in compare.
    return key === 'kind' && rest.length === 0 && group.kind !== next ? { kind: next } : { ...group, [key]: next };
  };
  return set(data, keys);
}

/** What single settings cannot show: whether they fit together. */
function inconsistencies(experiment: z.output<typeof runSchema>): string[] {
  const problems: string[] = [];
  const { topology, replicas, epochs, algorithm, consensus } = experiment;
  if (algorithm.kind === 'centralized' && consensus.kind !== 'none')
    problems.push(
      'consensus: there is nothing to control, the centralized algorithm keeps all replicas equal; use kind none',
    );
  if ('from' in consensus && consensus.to !== undefined && consensus.to <= consensus.from)
    problems.push(`consensus.to: must be above consensus.from = ${consensus.from}, got ${consensus.to}`);
  if (algorithm.kind === 'centralized') return problems;
  try {
    const seen = new Set<string>();
    for (let epoch = 0; epoch < epochs; epoch++) {
      const config = topologyAt(topology, replicas, epoch, epochs);
      const key = JSON.stringify(config);
      if (!seen.has(key)) buildTopology(config, replicas, experiment.seed);
      seen.add(key);
    }
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    problems.push(`topology: ${error.message}${error.hint === undefined ? '' : `; ${error.hint}`}`);
  }
  return problems;
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}

/** Checks one run's settings; problems are collected, not thrown. */
function check(data: unknown): { run: Experiment } | { problems: string[] } {
  const result = problemsOf(runSchema, data);
  if ('problems' in result) return result;
  const problems = inconsistencies(result.value);
  return problems.length > 0 ? { problems } : { run: frozen(result.value) as Experiment };
}

/**
 * The runs of an experiment, with all defaults filled in: the variants under `compare`, or the one the file describes.
 * Every problem of every variant is reported, those they share only once.
 */
export function resolve(data: unknown, where: string): readonly Experiment[] {
  const whole = problemsOf(experimentSchema, data);
  const { compare, ...base } = (isData(data) ? data : {}) as Data;
  const first = 'problems' in whole ? whole : check(base);
  const problems = 'problems' in first ? [...first.problems] : [];
  // Without a sound list of variants there is nothing to lay them on.
  const variants = Array.isArray(compare) && compare.every(isData) ? compare : [];
  const runs = variants.map((variant, index) => {
    const checked = check(merge(base, variant));
    if ('run' in checked) return checked.run;
    const own = checked.problems.filter((problem) => !problems.includes(problem));
    problems.push(...own.map((problem) => `compare[${index}] (${String(variant.name)}): ${problem}`));
    return undefined;
  });
  const names = variants.map((variant) => variant.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) problems.push(`compare: the name "${String(twice)}" is used twice; every run needs its own`);
  if (problems.length > 0) throw problemError(where, problems);
  return frozen('run' in first && runs.length === 0 ? [first.run] : (runs as Experiment[]));
}

/** Reads an experiment file, applies `--set` overrides, checks everything. */
export function loadExperiment(path: string, overrides: readonly string[] = []): readonly Experiment[] {
  const text = readText(path, 'experiment');
  return resolve(overrides.reduce(override, parseText(text, path)), path);
}
