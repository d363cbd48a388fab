import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AlgorithmSettings, algorithmSchema, planFor } from '../algorithm/choose.ts';
import { planFacts, sentText } from '../algorithm/facts.ts';
import type { Plan } from '../algorithm/method.ts';
import { requirements } from '../algorithm/needs.ts';
import { interpret, type Matrix, type Problem } from '../algorithm/reference.ts';
import { interpretPairs } from '../algorithm/reference-pairs.ts';
import { UserError } from '../base/error.ts';
import { parse } from '../base/schema.ts';
import { checkpointsIn, rewindCheckpoints } from '../engine/checkpoint.ts';
import { type TrainOptions, train } from '../engine/engine.ts';
import { prepare } from '../engine/prepare.ts';
import { resolve } from '../experiment/experiment.ts';
import type { Experiment } from '../experiment/schema.ts';
import { withMethod } from '../module/load.ts';
import type { PairCourse } from '../network/queue.ts';
import { executed, executedInPairs } from './float32.ts';
import { alone, complete, figures, n, problem } from './oracle.ts';

/** What was checked of a method, whether it holds, and what was found. `ok` is undefined of what is only told. */
export interface Finding {
  readonly check: string;
  readonly ok: boolean | undefined;
  readonly found: string;
}

const short = (value: number) => value.toExponential(1);

/** Compressed messages arrive whole: which numbers a compressor picks may hang on the last bit. */
const exact: Problem = { ...problem, rate: () => 0.02, compress: (_, values) => values };

/** The float64 interpreter against the engine in float32. */
const inFloat32 = async (check: string, plan: Plan, given: Problem): Promise<Finding> =>
  compared(check, interpret(plan, given, 100).model, await executed(plan, given, 100));

/** How far apart they are after 100 steps. */
function compared(check: string, wanted: readonly Float64Array[], found: readonly Float32Array[]): Finding {
  const far = Math.max(...wanted.map((x, i) => Math.max(...x.map((v, c) => Math.abs(v - found[i]![c]!)))));
  const ok = far < 1e-4;
  const text = Number.isFinite(far) ? `${short(far)} apart after 100 steps` : 'no finite numbers after 100 steps';
  return { check, ok, found: ok ? text : `${text}; at most 1e-4 is expected` };
}

/** Replicas of different and changing speed on a ring. */
const ringCourse = ({ asynchronous }: Plan): PairCourse => ({
  n,
  compute: (i, step) => 3 + ((5 * i + 3 * step) % 4),
  partner: (i, step) => ((i + step) % 3 === 0 ? (i + n - 1) % n : (i + 1) % n),
  exchangeNs: (i, j) => 1 + ((i + j) % 2),
  overlap: asynchronous!.overlap,
});

/** The queue, carried out by the engine, against the clock alone. */
async function inPairs(plan: Plan): Promise<Finding> {
  const found = await executedInPairs(plan, exact, ringCourse(plan), 100 * n, n);
  return compared('engine against float64', interpretPairs(exact, ringCourse(plan), 100 * n), found);
}

/** With equal curvatures the mean of linear methods follows from the mean gradient alone, whoever averages with whom. */
function meanKept(plan: Plan): Finding {
  const even: Problem = {
    ...exact,
    gradient(i, x, t) {
      const shift = exact.gradient(i, new Float64Array(x.length), t);
      return x.map((v, c) => v + shift[c]!);
    },
  };
  const meanWith = (W: Matrix) => {
    const { model } = interpret(plan, { ...even, weights: () => W, columns: () => W }, 50);
    return model[0]!.map((_, c) => model.reduce((sum, x) => sum + x[c]!, 0) / model.length);
  };
  const [ring, all] = [meanWith(exact.weights(0)), meanWith(complete)];
  const far = Math.max(...ring.map((v, c) => Math.abs(v - all[c]!)));
  const kept = far < 1e-12;
  return {
    check: 'mean of the replicas',
    ok: undefined,
    found: kept ? 'does not depend on who averages with whom' : `depends on who averages with whom (by ${short(far)})`,
  };
}

function towards(plan: Plan): Finding {
  const model = plan.asynchronous
    ? interpretPairs(exact, ringCourse(plan), 1000 * n)
    : interpret(plan, exact, 1000).model;
  const { off, spread } = figures(model);
  const found = Number.isFinite(off + spread)
    ? `${short(off)} from the optimum, Ξ ${short(spread)} after 1000 steps (D-PSGD: 2.3e-3, 3.9e-2)`
    : 'diverges within 1000 steps at learning rate 0.02';
  return { check: 'quadratics that disagree', ok: Number.isFinite(off + spread), found };
}

const small = {
  name: 'check',
  replicas: 6,
  data: { kind: 'synthetic', classes: 4, shape: [10], noise: 1, train: 480, test: 40 },
  model: { kind: 'mlp', hidden: [8] },
  batch: 8,
  epochs: 2,
  learningRate: { base: 0.01 },
};

const noise = { kind: 'exponential', mean: 0.5 };

async function bitsOf(experiment: Experiment, options: TrainOptions): Promise<string> {
  for await (const event of train(experiment, await prepare(experiment), options))
    if (event.type === 'end')
      return event.status === 'complete' ? event.paramsSha256 : `${event.status}: ${event.reason}`;
  throw new Error('a run without an end');
}

/** A small network is trained with 1, 2 and 3 workers, and again from the middle. */
async function inTraining(algorithm: AlgorithmSettings): Promise<Finding[]> {
  const timed = planFor(algorithm).asynchronous && { network: 'lan', devices: { compute: '2ms', noise } };
  const [experiment] = resolve({ ...small, algorithm, ...timed }, 'check') as [Experiment];
  const folder = mkdtempSync(join(tmpdir(), 'dbench-check-'));
  try {
    const whole = await bitsOf(experiment, { workers: 2, checkpoints: { folder, from: undefined } });
    const others = [await bitsOf(experiment, { workers: 1 }), await bitsOf(experiment, { workers: 3 })];
    const from = checkpointsIn(folder)[0]!;
    rewindCheckpoints(folder, from);
    const resumed = await bitsOf(experiment, { workers: 3, checkpoints: { folder, from } });
    const same = others.every((bits) => bits === whole);
    const trained = /^[0-9a-f]{64}$/.test(whole);
    return [
      {
        check: '1, 2 and 3 workers',
        ok: trained && same,
        found: !trained ? whole : same ? 'the same bits' : 'other bits',
      },
      {
        check: 'resumed',
        ok: trained && resumed === whole,
        found: resumed === whole ? 'the same bits as straight through' : 'other bits',
      },
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What every method of the package is held against, for any: settings as an experiment has them under `algorithm`. */
export async function checkMethod(given: { readonly kind: string }): Promise<readonly Finding[]> {
  const algorithm = withMethod(parse(algorithmSchema, given, 'algorithm'));
  const plan = planFor(algorithm);
  const special = plan.method.edges === undefined ? plan.method.hasServers && 'has servers' : 'keeps rows for edges';
  if (special)
    throw new UserError(`${plan.method.name} ${special}; only methods without can be checked by this command`);
  const facts = planFacts(plan);
  const keeps = [...Object.keys(plan.rows), ...Object.keys(plan.numbers)].join(', ');
  const needs = plan.needs.map((need) => requirements[need].what).join('; ') || 'nothing of the topology';
  const one: Problem = { ...exact, n: 1, weights: () => [[1]], columns: () => [[1]] };
  return [
    { check: 'formulas', ok: true, found: `keeps ${keeps}; sends ${sentText(facts, plan)}; needs ${needs}` },
    ...(plan.asynchronous
      ? [await inPairs(plan), towards(plan)]
      : [
          await inFloat32('engine against float64', plan, exact),
          await inFloat32('one replica', plan, one),
          await inFloat32('nobody heard', plan, { ...exact, weights: () => alone, columns: () => alone }),
          towards(plan),
          meanKept(plan),
        ]),
    ...(await inTraining(algorithm)),
  ];
}
