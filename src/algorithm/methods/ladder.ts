import { z } from 'zod';
import { meanDegree } from '../../topology/summary.ts';
import { buildTopology } from '../../topology/topology.ts';
import { type MethodPlace, method } from '../method.ts';
import { driftAlone, driftUnderGossip } from '../noise.ts';
import { positive } from '../settings.ts';
import { harm } from './leash.ts';
import { goOn } from './periodic.ts';

const rung = z.strictObject({
  by: z.enum(['average', 'gossip']).default('average').describe('exact average of all, or gossip over the topology'),
  every: z.int().min(1).describe('steps between two'),
  gain: z
    .number()
    .gt(0)
    .optional()
    .describe('Ξ² when harm is measured, relative to other rungs; by a model of noise unless given'),
  cost: z
    .number()
    .gt(0)
    .optional()
    .describe('of a step, relative to other rungs; copies of the model sent unless given'),
});
type Rung = z.output<typeof rung>;
type FilledRung = Rung & { readonly gain: number; readonly cost: number };

const usual = [1, 2, 3, 4, 6, 8, 12, 16].map((every): Rung => ({ by: 'average', every }));

/** How often a rung averages before harm is measured again: under gossip replicas need a while to come as far apart as they will. */
const pauses = { average: 4, gossip: 16 } as const;

/** Gain and cost of a rung where it runs. Whatever the rung, harm is measured at an exact average, from which all go on together. */
function filled(given: Rung, message: number, { replicas: n, momentum: beta, ...place }: MethodPlace): FilledRung {
  const { by, every, gain, cost } = given;
  const known = (gain: number, cost: number): FilledRung => {
    const short = (value: number) => Number(Math.max(value, 1e-9).toPrecision(6));
    return { ...given, gain: given.gain ?? short(gain), cost: given.cost ?? short(cost / every) };
  };
  if (gain !== undefined && cost !== undefined) return { ...given, gain, cost };
  // As a ring: 2(n − 1) messages of an n-th each.
  const average = 2 * (n - 1) * (1 / n + message);
  if (by === 'average') return known(driftAlone(n, beta, every), average);
  const topology = place.topology();
  const gossips = pauses.gossip - 1;
  return known(
    driftUnderGossip((gossip) => topology.mixing(gossip), { n, beta, every, gossips }),
    (gossips * meanDegree(topology) * (1 + message) + average) / pauses.gossip,
  );
}

/** Where nothing else is known. */
const anywhere: MethodPlace = {
  replicas: 64,
  momentum: 0.9,
  topology: () => buildTopology({ kind: 'one-peer-exponential' }, 64, 1),
};

/**
 * Ada in a closed loop: of several ways to average, rungs, the cheapest is taken that keeps the harm of disagreement at its target. A model in which gradients are noise says how much
 * farther than now, in Ξ², replicas would be apart on another rung; harm, measured as by the leash and taken to grow as Ξ does, says how much farther they may. A rung is left when harm is above the target, or when another
 * is a fifth cheaper and would use up less than seven tenths of what is allowed.
 */
export const ladder = method({
  name: 'ladder',
  title: 'Ladder',
  summary: 'Ada in a closed loop: takes the cheapest way to average that keeps the measured harm of disagreement low',
  paper: 'this project, docs/ada.md',
  settings: {
    target: positive(0.75).describe(
      'error of the mean gradient by disagreement, relative to that gradient, that is held',
    ),
    rungs: z
      .array(rung)
      .min(1)
      .max(10)
      .optional()
      .describe(
        'ways to average, of which one is taken at a time, as { every: 4 } or { by: gossip, every: 1 }; exact averages every 1, 2, 3, 4, 6, 8, 12 and 16 steps unless given',
      ),
    message: z
      .number()
      .min(0)
      .default(0)
      .describe('what a message costs besides its bytes, in copies of the model: latency × rate / bytes of the model'),
  },
  rows: { c: 'x' },
  numbers: {
    since: 0,
    rates: 0,
    every: 0,
    exact: 0,
    gain: 0,
    cost: 0,
    wait: 0,
    error: 0,
    level: 0,
    q: Number.NaN,
    over: 0,
    reach: 0,
    most: 0,
    fresh: 0,
  },
  signals: { harm: 'q', period: 'every' },
  needs: ['doubly'],
  fill: ({ rungs = usual, ...rest }, place) => ({
    ...rest,
    rungs: rungs.map((each) => filled(each, rest.message, place)),
  }),
  step: ({ rungs = usual, message }) => {
    const ascending = rungs.map((each) => filled(each, message, anywhere)).toSorted((a, b) => a.cost - b.cost);
    const kinds = new Set(ascending.map(({ by }) => by));
    const dearest = ascending.at(-1)!;
    const begin = ({ by, every, gain, cost }: FilledRung) =>
      `every = ${every}; exact = ${by === 'average' ? 1 : 0}; gain = ${gain}; cost = ${cost}; wait = ${pauses[by] - 1}`;
    // What harm was here is what the model expects there.
    const take = (each: FilledRung) => `error = error*${each.gain}/gain; ${begin(each)}`;
    const fits = ({ gain, cost }: FilledRung) => `min(reach/${gain}, most/${cost})`;
    // The first that fits is the cheapest; if none does and harm is too large, the dearest is what can be done.
    const choose = ascending.reduceRight(
      (rest, each) =>
        each === dearest
          ? `if max(${fits(each)}, over) >= 1 { ${take(each)} }`
          : `if ${fits(each)} >= 1 { ${take(each)} } else {\n${rest}\n}`,
      '',
    );
    const local = 'g = grad(x); x = x - eta*T(g)';
    const average = `a = mean(x); ${goOn('a')}; rates = 0; ${local}`;
    const gossip = `x = W(x); ${local}`;
    const plain =
      kinds.size === 2 ? `if exact >= 1 { ${average} } else { ${gossip} }` : kinds.has('average') ? average : gossip;
    const measure = `
        a = mean(x)${harm}
        over = min(1, max(0, 1e6*(q/target - 1)))
        reach = (0.7 + 0.3*over)*gain*(target/max(q, 1e-6))^2
        most = (0.8 + 1e6*over)*cost
        fresh = 1; wait = ${pauses.gossip - 1} - ${pauses.gossip - pauses.average}*exact
        ${goOn('a')}; rates = 0
        x = x - eta*T(h)`;
    const controlled = `
      if wait >= 1 {
        ${plain}
        wait = wait - 1
      } else {${measure}
      }`;
    return `
    first { ${begin(dearest)} }
    ${rungs.length > 1 ? `if fresh >= 1 { fresh = 0; ${choose} }` : ''}
    if since + 1/2 >= max(every, 1) {
      ${rungs.length > 1 ? controlled : plain}
      since = 1
    } else {
      ${local}
      since = since + 1
    }
    rates = rates + eta
    last { x = mean(x) }`;
  },
});
