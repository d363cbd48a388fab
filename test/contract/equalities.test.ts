import { expect, it } from 'vitest';
import { planOf } from '../../src/algorithm/method.ts';
import { methods } from '../../src/algorithm/methods.ts';
import { interpret, type Matrix, type Problem } from '../../src/algorithm/reference.ts';
import { edgeSets } from '../../src/topology/edges.ts';
import { buildTopology } from '../../src/topology/topology.ts';
import { alone, complete, compressors, gradient, n, problem, ring, ringEdges } from './oracle.ts';

/** A method with settings, on the oracle problem changed in some way. */
type Case = readonly [method: string, settings?: Readonly<Record<string, unknown>>, changed?: Partial<Problem>];

const plan = ([name, settings, changed]: Case) =>
  planOf(methods.find((method) => method.name === name)!, settings, {
    replicas: changed?.n ?? n,
    sets: changed?.edges?.partners.length ?? 0,
  });

/** The models of every replica after each of 30 steps, one after the other. */
function path(given: Case): number[][] {
  const steps: number[][] = [];
  interpret(plan(given), { ...problem, ...given[2] }, 30, (_, { model }) => {
    steps.push(model.flatMap((row) => [...row]));
  });
  return steps;
}

const on = (weights: Matrix): Partial<Problem> => ({ weights: () => weights, columns: () => weights });
const exact = { compress: compressors.identity };
const half = ring.map((row, i) => row.map((w, j) => (w + (i === j ? 1 : 0)) / 2));
const threeQuarters = ring.map((row, i) => row.map((w, j) => 0.75 * w + (i === j ? 0.25 : 0)));
const never = 1_000_000;
const two = { n: 2, edges: edgeSets(buildTopology({ kind: 'ring' }, 2, 1), 'tree') };
const order = (name: string) => ({ order: name });

/** What special cases are, as published or as follows from the formulas. */
const equalities: readonly [title: string, one: Case, other: Case][] = [
  ['D-PSGD on the complete topology is centralized', ['dpsgd', {}, on(complete)], ['centralized']],
  ['RelaySGD of two replicas is centralized', ['relaysgd', {}, two], ['centralized', {}, two]],
  [
    'PowerGossip of vectors is D-PSGD that does not average in the first step',
    ['powergossip', {}, { edges: ringEdges, random: new Float64Array(8) }],
    ['dpsgd', {}, { weights: (t) => (t === 0 ? alone : ring) }],
  ],
  [
    'FedDKD without distillation is local SGD',
    ['feddkd', { distillations: 0, period: 4 }],
    ['local-sgd', { period: 4 }],
  ],
  [
    'NTK-DFL by one step on what all have is centralized',
    ['ntk-dfl', { candidates: [1] }, on(complete)],
    ['centralized'],
  ],
  [
    'NTK-DFL by one step without neighbours is local',
    ['ntk-dfl', { candidates: [1] }, on(alone)],
    ['dpsgd', {}, on(alone)],
  ],
  ['D-PSGD without neighbours is local', ['dpsgd', {}, on(alone)], ['local-sgd', { period: never }]],
  [
    'DSGD-AC that averages fully is D-PSGD while communicating',
    ['dsgd-ac', { gammaMin: 1 }],
    ['dpsgd', order('adapt-while-communicating')],
  ],
  ['DSGD-AC that does not average is local', ['dsgd-ac', { etaMax: 1e9 }], ['local-sgd', { period: never }]],
  [
    'DSGD-AC that averages in part is D-PSGD with part of the weights',
    ['dsgd-ac', { gammaMin: 0.5, etaMax: 0.1, power: 1 }],
    ['dpsgd', order('adapt-while-communicating'), on(threeQuarters)],
  ],
  [
    'DSGD-AC at a rate above the largest averages fully',
    ['dsgd-ac', { etaMax: 0.01 }],
    ['dpsgd', order('adapt-while-communicating')],
  ],
  [
    'QG-DSGDm without momentum decays the weights as SGD does',
    ['qg-dsgdm', { beta: 0, weightDecay: 0.1 }],
    ['dpsgd', {}, { direction: (_, g, x) => g.map((v, j) => v + 0.1 * x[j]!) }],
  ],
  ['QG-DSGDm without momentum is D-PSGD', ['qg-dsgdm', { beta: 0 }], ['dpsgd']],
  ['GUT without tracking combines, then adapts', ['gut', { mu: 0 }], ['dpsgd', order('combine-then-adapt')]],
  ['QG-GUTm without both too', ['qg-gutm', { mu: 0, beta: 0 }], ['dpsgd', order('combine-then-adapt')]],
  ['DecentLaM without momentum is D-PSGD', ['decentlam', { beta: 0 }], ['dpsgd']],
  [
    'CD-Adam uncompressed steps around the average',
    ['cd-adam', { beta1: 0, beta2: 0, tau: 1, gamma: 1 }, exact],
    ['dpsgd', order('adapt-while-communicating'), { direction: (_, g) => g.map((v) => v / (Math.abs(v) + 1)) }],
  ],
  ['SGP with doubly stochastic weights is D-PSGD', ['sgp', {}, on(ring)], ['dpsgd']],
  [
    'Robust push-sum that hears every message is D-PSGD, if weights are doubly stochastic',
    ['robust-push-sum', {}, { edges: edgeSets(buildTopology({ kind: 'ring' }, n, 1), 'heard') }],
    ['dpsgd'],
  ],
  ['CHOCO uncompressed is D-PSGD', ['choco', { gamma: 1 }, exact], ['dpsgd']],
  [
    'CHOCO uncompressed, mixing first, averages while communicating',
    ['choco', { gamma: 1, ...order('mix-first') }, exact],
    ['dpsgd', order('adapt-while-communicating')],
  ],
  [
    'AdaGossip without limit is CHOCO',
    ['adagossip', { gamma: 1e12 }, { compress: compressors.top2 }],
    ['choco', { gamma: 1 }, { compress: compressors.top2 }],
  ],
  ['BEER uncompressed is DIGing', ['beer', { gamma: 1 }, exact], ['diging']],
  ['LEAD uncompressed is exact diffusion', ['lead', {}, exact], ['exact-diffusion']],
  ['D² with half the weights is exact diffusion', ['d2', {}, on(half)], ['exact-diffusion']],
  ['DSGT on the complete topology is centralized', ['dsgt', {}, on(complete)], ['centralized']],
  ['momentum tracking without momentum is DIGing', ['momentum-tracking', { beta: 0 }], ['diging']],
  ['Gossip-PGA in every step is the complete topology', ['gossip-pga', { period: 1 }], ['dpsgd', {}, on(complete)]],
  ['Gossip-PGA never is D-PSGD', ['gossip-pga', { period: never }], ['dpsgd']],
  [
    'Gossip-PGA without neighbours is local SGD',
    ['gossip-pga', { period: 4 }, on(alone)],
    ['local-sgd', { period: 4 }],
  ],
  ['SlowMo without momentum is local SGD', ['slowmo', { period: 4, beta: 0 }], ['local-sgd', { period: 4 }]],
  [
    'DiLoCo with a plain outer step is local SGD',
    ['diloco', { period: 4, rho: 1, mu: 0 }],
    ['local-sgd', { period: 4 }],
  ],
  [
    'NoLoCo among all without momentum is local SGD',
    ['noloco', { period: 4, rho: 1, mu: 0 }, on(complete)],
    ['local-sgd', { period: 4 }],
  ],
  [
    'DisPFL with all parameters is DFedAvg',
    ['dispfl', { period: 4, density: 1, alpha: 0 }],
    ['dfedavgm', { period: 4, beta: 0 }],
  ],
  [
    'DisPFL with all parameters has nothing to replace',
    ['dispfl', { period: 4, density: 1 }],
    ['dfedavgm', { period: 4, beta: 0 }],
  ],
  ['DFedAvgM in every step is D-PSGD', ['dfedavgm', { period: 1 }], ['dpsgd']],
  ['DFedSAM without perturbation is DFedAvgM', ['dfedsam', { period: 4, rho: 0 }], ['dfedavgm', { period: 4 }]],
  ['local steps of D-PSGD are DFedAvg', ['dpsgd', { localSteps: 4 }], ['dfedavg', { period: 4 }]],
];

it.each(equalities)('%s', (_, one, other) => {
  const [a, b] = [path(one), path(other)];
  const far = Math.max(...a.flatMap((row, t) => row.map((value, k) => Math.abs(value - b[t]![k]!))));
  expect(far).toBeLessThan(1e-11);
});

it('combining first is adapting first, seen half a step later', () => {
  const mixed = path(['dpsgd', { order: 'combine-then-adapt' }]).map((row) =>
    ring.flatMap((weights) =>
      Array.from({ length: 8 }, (_, c) => weights.reduce((sum, w, j) => sum + w * row[8 * j + c]!, 0)),
    ),
  );
  path(['dpsgd']).forEach((row, t) => {
    row.forEach((value, k) => {
      expect(mixed[t]![k]).toBeCloseTo(value, 12);
    });
  });
});

it('quantized push-sum, uncompressed, is D-PSGD a step later', () => {
  const [pushed, plain] = [path(['quantized-push-sum', {}, { ...on(ring), ...exact }]), path(['dpsgd'])];
  for (let t = 0; t + 1 < pushed.length; t++)
    plain[t]!.forEach((value, k) => {
      expect(pushed[t + 1]![k]).toBeCloseTo(value, 12);
    });
});

it.each<[string, Case, Case, number]>([
  [
    'leash with a fixed period and nothing rounded is local SGD',
    ['leash', { fixed: 4, bits: 32, commonMomentum: false }],
    ['local-sgd', { period: 4 }],
    4,
  ],
  [
    'a ladder of one rung that averages is local SGD',
    ['ladder', { rungs: [{ every: 4 }] }],
    ['local-sgd', { period: 4 }],
    4,
  ],
  [
    'a ladder of one rung that gossips is D-PSGD with local steps',
    ['ladder', { rungs: [{ by: 'gossip', every: 4 }] }],
    ['dpsgd', { localSteps: 4 }],
    4,
  ],
])('%s, which is seen half a step later', (_, late, plain, period) => {
  const [a, b] = [path(late), path(plain)];
  // At the end of a period the one has averaged, the other will when the next step begins; after the last step it averages once more.
  b.slice(0, -1).forEach((row, t) => {
    if ((t + 1) % period !== 0)
      row.forEach((value, k) => {
        expect(a[t]![k]).toBeCloseTo(value, 11);
      });
  });
});

/** Alone, with W = (1): every method is the plain optimizer, or its own momentum and Adam without anybody to average with. */
const single: Partial<Problem> = {
  n: 1,
  weights: () => [[1]],
  columns: () => [[1]],
  edges: edgeSets(buildTopology({ kind: 'ring' }, 1, 1), 'heard'),
  gradient,
  compress: compressors.identity,
};
const plainAlone = path(['local-sgd', { period: never }, single]);
const ownRule = [
  'qg-dsgdm',
  'qg-gutm',
  'decentlam',
  'd-adam',
  'cd-adam',
  'dadam',
  'damsgrad',
  'momentum-tracking',
  'slowmo',
  'diloco',
  'noloco',
  'dfedavgm',
  'dfedsam',
  'quantized-push-sum',
  'ntk-dfl',
  'dispfl',
  'parallel-servers',
  'leash',
];

it.each(methods.map(({ name }) => name).filter((name) => !ownRule.includes(name)))(
  'one replica under %s is plain SGD',
  (name) => {
    path([name, {}, single]).forEach((row, t) => {
      row.forEach((value, k) => {
        expect(value).toBeCloseTo(plainAlone[t]![k]!, 11);
      });
    });
  },
);

it.each([
  ['qg-dsgdm', { beta: 0 }],
  ['qg-gutm', { beta: 0, mu: 0 }],
  ['decentlam', { beta: 0 }],
  ['momentum-tracking', { beta: 0 }],
  ['slowmo', { beta: 0, period: 4 }],
  ['diloco', { mu: 0, rho: 1, period: 4 }],
  ['noloco', { mu: 0, rho: 1, period: 4 }],
  ['dfedavgm', { beta: 0 }],
  ['dfedsam', { beta: 0, rho: 0 }],
  ['dispfl', { density: 1 }],
  ['leash', { bits: 32 }],
])('so it is under %s without its momentum, mask or rounding', (name, settings) => {
  expect(n).toBe(8);
  path([name, settings, single]).forEach((row, t) => {
    row.forEach((value, k) => {
      expect(value).toBeCloseTo(plainAlone[t]![k]!, 11);
    });
  });
});

/** The problem moved to another place: whatever is computed from differences moves with it. */
it('RelaySGD does not depend on where it starts', () => {
  const edges = edgeSets(buildTopology({ kind: 'tree' }, n, 1), 'tree');
  const start = Float64Array.from({ length: 8 }, (_, j) => 1 + j);
  const moved = path([
    'relaysgd',
    {},
    {
      edges,
      start,
      gradient: (i, x) =>
        gradient(
          i,
          Float64Array.from(x, (v, j) => v - start[j]!),
        ),
    },
  ]);
  path(['relaysgd', {}, { edges }]).forEach((row, t) => {
    row.forEach((value, k) => {
      expect(moved[t]![k]! - start[k % 8]!).toBeCloseTo(value, 11);
    });
  });
});

/** What one replica holds back the others do not get, so that nothing is lost. */
it.each(['quantized-push-sum', 'choco', 'beer'])('%s keeps the sum whatever a message leaves out', (name) => {
  const slopes = (i: number) => Float64Array.from({ length: 8 }, (_, j) => Math.sin(1 + i + 3 * j));
  const constant = { gradient: slopes, compress: compressors.top2 };
  const steps = 20;
  const plan = planOf(methods.find((method) => method.name === name)!);
  const { rows } = interpret(plan, { ...problem, ...constant }, steps);
  for (let j = 0; j < 8; j++) {
    const sum = (values: readonly Float64Array[]) => values.reduce((total, row) => total + row[j]!, 0);
    const moved = -0.05 * steps * sum(Array.from({ length: n }, (_, i) => slopes(i)));
    expect(sum(rows.get('x')!)).toBeCloseTo(moved, 11);
  }
});
