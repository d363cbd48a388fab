import { resolve } from 'node:path';
import { Command } from 'commander';
import type { z } from 'zod';
import { stepOf } from '../algorithm/actions.ts';
import { type AlgorithmSettings, algorithmSchema, planFor } from '../algorithm/choose.ts';
import { compressorSchema, rowCompressor } from '../algorithm/compressors.ts';
import { keptNames, planFacts, sentText } from '../algorithm/facts.ts';
import { type Method, type Plan, planOf } from '../algorithm/method.ts';
import { findMethod, methods } from '../algorithm/methods.ts';
import { requirements, unmetNeed } from '../algorithm/needs.ts';
import { matricesOf } from '../algorithm/places.ts';
import { choicesIn } from '../algorithm/stage.ts';
import { linesOf } from '../algorithm/text.ts';
import { trafficOf } from '../algorithm/traffic.ts';
import { parse } from '../base/schema.ts';
import { checkMethod } from '../contract/check.ts';
import { override } from '../experiment/experiment.ts';
import { withMethod } from '../module/load.ts';
import { edgeSets } from '../topology/edges.ts';
import { meanDegree } from '../topology/summary.ts';
import { buildTopology } from '../topology/topology.ts';
import { jsonOption, setOption } from './options.ts';
import { bytes, fields, number, table } from './print.ts';
import { countOf } from './settings.ts';

interface ShowOptions {
  readonly set: string[];
  readonly n: string;
  readonly topology: string;
  readonly parameters: string;
  readonly json?: true;
}

/** What is derived from a method with its default settings. */
function described(method: Method, plan = planOf(method)) {
  const facts = planFacts(plan);
  return {
    name: method.name,
    aliases: method.aliases ?? [],
    title: method.title,
    summary: method.summary,
    paper: method.paper,
    keeps: keptNames(method),
    sent: sentText(facts, plan),
    needs: method.needs.map((need) => requirements[need].what),
    usesOptimizer: facts.usesOptimizer,
    usesTopology: facts.usesTopology,
    keepsReplicasEqual: facts.keepsReplicasEqual,
  };
}

function list(options: { json?: true }): void {
  const all = methods.map((method) => described(method));
  if (options.json) {
    console.log(JSON.stringify(all, null, 2));
    return;
  }
  console.log(
    table(
      ['algorithm', 'keeps', 'sends', 'summary'],
      all.map(({ name, keeps, sent, summary }) => [name, keeps.join(' ') || '–', sent, summary]),
      ['keeps', 'sends', 'summary'],
    ),
  );
  console.log('\nkeeps: rows besides the parameters x, each as large · sends: to each neighbour in a step');
  console.log('formulas, settings, bytes of one: dbench algorithm show NAME');
}

/** A setting's default and what it is for. */
function settingRows(method: Method, { scalars }: Plan): [string, string, string][] {
  // Of a module only the values are known.
  if (Object.keys(method.settings).length === 0)
    return Object.entries(scalars).map(([name, value]) => [name, String(value), '']);
  return Object.entries(method.settings as Record<string, z.ZodType>).map(([name, schema]) => {
    const value = schema.safeParse(undefined).data;
    return [name, String(value ?? '–'), schema.description ?? ''];
  });
}

/** What a word and settings stand for: a method by its name, or the one that a module exports. */
function algorithmOf(word: string, set: readonly string[]): AlgorithmSettings {
  const isPath = /[./\\]/.test(word);
  const named = isPath ? { kind: 'module', path: resolve(word) } : { kind: findMethod(word).name };
  return withMethod(parse(algorithmSchema, set.reduce<unknown>(override, named), word));
}

function show(name: string, options: ShowOptions): void {
  const algorithm = algorithmOf(name, options.set);
  const [n, parameters] = [countOf('-n')(options.n), countOf('--parameters')(options.parameters)];
  const { compressor } = algorithm as { readonly compressor?: unknown };
  const { method } = planFor(algorithm);
  const topology = buildTopology({ kind: options.topology }, n, 1);
  const unmet = unmetNeed(method.needs, topology);
  const edges = method.edges && unmet === undefined ? edgeSets(topology, method.edges.of) : undefined;
  const plan = planFor(algorithm, edges && { replicas: n, sets: edges.partners.length });
  // A message over any edge is the same, so what is said of one edge is said of all.
  const facts = planFacts(planFor(algorithm));
  const compressed = rowCompressor(compressorSchema.parse(compressor ?? { kind: 'top-k' }), [0, parameters]).bytes;
  const traffic = (t: number, branch?: number) =>
    trafficOf(plan, stepOf(plan, { t, steps: Number.POSITIVE_INFINITY, eta: 1, etaBefore: 1, branch }), {
      replicas: n,
      degree: edges?.degree ?? meanDegree(topology),
      columns: parameters,
      tensors: [{ offset: 0, size: parameters, shape: [parameters] }],
      compressedBytes: compressed,
    });
  const periods = [
    1,
    ...Object.values(plan.scalars).filter((value) => Number.isInteger(value) && value > 1 && value <= 1000),
  ];
  const steps = Math.min(
    5000,
    periods.reduce((product, period) => product * period, 1),
  );
  const sent = Array.from({ length: steps }, (_, t) => traffic(t).bytes).reduce((sum, each) => sum + each, 0) / steps;
  // What a method decides as it goes shows only in a run.
  const branches = Array.from({ length: 2 ** choicesIn(plan.stages).length }, (_, branch) => traffic(1, branch).bytes);
  const range = branches.length === 1 ? null : ([Math.min(...branches), Math.max(...branches)] as const);
  const formulas = linesOf(plan.text);
  const about = {
    ...described(method, plan),
    step: formulas,
    model: method.model ?? 'x',
    matrices: matricesOf(plan),
    bytesPerStep: range === null ? sent : null,
    bytesPerStepRange: range,
    unmetNeed: unmet?.problem ?? null,
  };
  if (options.json) {
    console.log(JSON.stringify(about, null, 2));
    return;
  }
  console.log(`${method.title} (${method.name}): ${method.summary}\n${method.paper}\n`);
  console.log(`${formulas.map((line) => `    ${line}`).join('\n')}\n`);
  console.log(
    fields([
      [
        'keeps',
        Object.entries({ ...method.rows, ...method.numbers, ...method.edges?.rows, ...method.edges?.numbers })
          .map(([row, start]) => `${row} (starts as ${start})`)
          .join(', ') || 'nothing but x',
      ],
      ['model', method.model ?? 'x'],
      ['needs', about.needs.join('; ') || 'nothing of the topology'],
      [
        'optimizer',
        facts.usesOptimizer ? "T is the experiment's optimizer" : 'has its own rule: the experiment names none',
      ],
      ['sends', sentText(facts, plan)],
      [
        `on ${topology.kind}, n = ${n}`,
        unmet === undefined
          ? `${range === null ? bytes(sent) : `${bytes(range[0])} to ${bytes(range[1])}`} per replica and step with ${number(parameters)} parameters${facts.sent.some(({ what }) => what === 'Jacobian') ? ', one sample in a batch and one class' : ''}${facts.compresses ? `, ${bytes(compressed)} per message` : ''}`
          : unmet.problem,
      ],
      ['memory', `${about.matrices} rows per replica`],
    ]),
  );
  const rows = settingRows(method, plan);
  if (rows.length > 0) console.log(`\n${table(['setting', 'default', 'what it is'], rows, ['default', 'what it is'])}`);
}

interface CheckOptions {
  readonly set: string[];
  readonly json?: true;
}

async function check(word: string, options: CheckOptions): Promise<void> {
  const algorithm = algorithmOf(word, options.set);
  const findings = await checkMethod(algorithm);
  const failed = findings.filter(({ ok }) => ok === false);
  if (failed.length > 0) process.exitCode = 1;
  const { name } = planFor(algorithm).method;
  if (options.json) return console.log(JSON.stringify({ name, ok: failed.length === 0, findings }, null, 2));
  const marks = { true: 'yes', false: 'NO', undefined: '–' } as const;
  const rows = findings.map(({ check, ok, found }) => [check, marks[`${ok}`], found]);
  console.log(table(['checked', 'holds', 'found'], rows, ['holds', 'found']));
  console.log(
    failed.length === 0 ? `\n${name} can be used` : `\n${name} fails ${failed.length} of ${rows.length} checks`,
  );
}

export function command(): Command {
  const algorithm = new Command('algorithm');
  algorithm.command('list').description('all methods').addOption(jsonOption()).action(list);
  algorithm
    .command('show')
    .description('the formulas of a method, what it keeps and needs, and its bytes')
    .argument('<name>', 'as dbench algorithm list names it, or the path of a module')
    .addOption(setOption())
    .option('-n, --n <replicas>', 'replicas', '16')
    .option('--topology <kind>', 'to count bytes on', 'ring')
    .option('--parameters <count>', 'size of the model', '79510')
    .addOption(jsonOption())
    .action(show);
  algorithm
    .command('check')
    .description(
      'hold a method of yours against the interpreter in float64, and train with it; a module runs with your rights',
    )
    .argument('<file>', 'a TypeScript or JavaScript module that exports a method, or the name of a method')
    .addOption(setOption())
    .addOption(jsonOption())
    .action(check);
  return algorithm;
}
