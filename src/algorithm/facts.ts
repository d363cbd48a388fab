import { type Action, differentSteps } from './actions.ts';
import { type AlgorithmSettings, planFor } from './choose.ts';
import { rowFunctions } from './functions.ts';
import type { Method, Plan } from './method.ts';
import { flatStages, type Stage } from './stage.ts';
import type { When } from './text.ts';

/** What the rest of the system needs to know of an algorithm: it is asked here, never by the algorithm's name. All of it follows from its stages. */
export interface AlgorithmFacts {
  /** Whether replicas hear their neighbours: if not, the topology does not matter. */
  readonly usesTopology: boolean;
  /** Whether the experiment's optimizer makes the step; if not, the method has its own rule. */
  readonly usesOptimizer: boolean;
  /** Whether messages are compressed. */
  readonly compresses: boolean;
  /** Whether all replicas are equal after every step, to the last bit. */
  readonly keepsReplicasEqual: boolean;
  /** Whether consensus control can average once more: W is the last thing that is done to x, or the first. */
  readonly controllable: boolean;
  /** Whether a run can continue without replicas that are lost: nothing but x outlasts a step, and it is not a mean over all. */
  readonly survivesLoss: boolean;
  /** Whether replicas average in pairs, each when it has computed: then learning follows time, and a run needs a network. */
  readonly asynchronous: boolean;
  /** Whether it gives the optimizer its momentum: one that has momentum of another kind does not fit. */
  readonly setsMomentum: boolean;
  /** Replicas that are servers, the last ones: they have no data, the topology is theirs, and they are the model. */
  readonly servers: number;
  /** What is exchanged, in the order of the step. */
  readonly sent: readonly Sent[];
}

export interface Sent {
  readonly what:
    | 'row'
    | 'row to one neighbour'
    | 'number'
    | 'compressed row'
    | 'exact mean'
    | 'rounded mean'
    | 'Jacobian'
    | 'sketch';
  /** In which steps, if not in all. */
  readonly when: When | undefined;
}

function exchangesIn(plan: Plan): Sent[] {
  const packed = new Set(
    flatStages(plan.stages).flatMap((stage) => {
      if (stage.do !== 'apply') return [];
      const { spans, bytes } = rowFunctions[stage.name]!;
      return (spans ?? bytes) === undefined ? [] : [stage.into];
    }),
  );
  const walk = (stages: readonly Stage[], when: When | undefined): Sent[] =>
    stages.flatMap((stage): Sent[] => {
      if (stage.do === 'when') return [...walk(stage.inside, stage.when), ...walk(stage.otherwise, when)];
      if (stage.do === 'mix' && stage.by === 'pair') return [{ what: 'row to one neighbour', when }];
      if (stage.do === 'mix')
        return plan.memories.has(stage.from)
          ? []
          : [{ what: packed.has(stage.from) ? 'compressed row' : stage.sort, when }];
      if (stage.do === 'send') return [{ what: 'compressed row', when }];
      if (stage.do === 'evolve') return [{ what: 'Jacobian', when }];
      if (stage.do === 'sketch') return [{ what: 'sketch', when }];
      return stage.do === 'mean' ? [{ what: packed.has(stage.from) ? 'rounded mean' : 'exact mean', when }] : [];
    });
  return walk(plan.stages, undefined);
}

/** Whether the last thing a step mixes is always x with W, which may then be repeated or left out. */
function isControllable(plan: Plan): boolean {
  if (plan.asynchronous !== undefined || plan.needs.includes('static')) return false;
  const last = differentSteps(plan).flatMap(
    ({ actions }) => actions.findLast((action) => action.do === 'mix' || action.do === 'send') ?? [],
  );
  const isOfX = (action: Action) =>
    action.do === 'mix' && action.by === 'W' && action.from === 'x' && action.into === 'x';
  return last.length > 0 && last.every(isOfX);
}

/** Of the algorithm that an experiment names. */
export const factsOf = (algorithm: AlgorithmSettings): AlgorithmFacts => planFacts(planFor(algorithm));

export function planFacts(plan: Plan): AlgorithmFacts {
  const stages = flatStages(plan.stages);
  const kinds = new Set(stages.map(({ do: kind }) => kind));
  const servers = plan.method.hasServers ? plan.scalars.servers! : 0;
  return {
    usesTopology: kinds.has('mix') || kinds.has('send') || kinds.has('evolve'),
    usesOptimizer: kinds.has('direction'),
    compresses: kinds.has('send'),
    keepsReplicasEqual: plan.equal.has(plan.modelRow),
    controllable: servers === 0 && isControllable(plan),
    servers,
    survivesLoss: servers === 0 && Object.keys(plan.rows).length === 1 && plan.modelRow === 'x' && !plan.equal.has('x'),
    asynchronous: plan.asynchronous !== undefined,
    setsMomentum: kinds.has('momentum'),
    sent: exchangesIn(plan),
  };
}

/** How many replicas have data: all, or the clients, who come first. */
export const trainersOf = ({ algorithm, replicas }: Crowd): number => replicas - factsOf(algorithm).servers;

/** How many replicas the topology connects: all, or the servers. */
export const peersOf = ({ algorithm, replicas }: Crowd): number => factsOf(algorithm).servers || replicas;

interface Crowd {
  readonly algorithm: AlgorithmSettings;
  readonly replicas: number;
}

/** The names of what a replica keeps besides x. */
export const keptNames = ({ rows, numbers, edges }: Method): string[] => [
  ...Object.keys({ ...rows, ...numbers }),
  ...Object.keys({ ...edges?.rows, ...edges?.numbers }).map((name) => `${name} per edge`),
];

const whenText = (when: When | undefined, scalars: Readonly<Record<string, number>>) =>
  when === undefined
    ? ''
    : typeof when === 'string'
      ? ` in the ${when} step`
      : 'at' in when
        ? ` in ${when.at.length} steps`
        : 'if' in when
          ? ' at times'
          : scalars[when.every] === 1
            ? ''
            : ` every ${scalars[when.every]} steps`;

/** `2 rows`, `compressed row`, `exact mean every 48 steps` */
export function sentText({ sent }: AlgorithmFacts, { scalars }: Pick<Plan, 'scalars'>): string {
  const counts = new Map<string, { count: number; what: string; when: string }>();
  for (const { what, when } of sent) {
    const key = `${what}${whenText(when, scalars)}`;
    const known = counts.get(key);
    counts.set(key, { count: (known?.count ?? 0) + 1, what, when: whenText(when, scalars) });
  }
  const parts = [...counts.values()].map(
    ({ count, what, when }) => `${count} ${what}${count > 1 ? (what.endsWith('ch') ? 'es' : 's') : ''}${when}`,
  );
  return parts.length === 0 ? 'nothing' : parts.join(', ');
}
