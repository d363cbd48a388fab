import { z } from 'zod';
import { UserError } from '../base/error.ts';
import { namesIn } from '../base/formula.ts';
import type { EdgeChoice } from '../topology/edges.ts';
import type { Topology } from '../topology/topology.ts';
import { equalNumbers, equalRows, memoryRows } from './derive.ts';
import { edgeName } from './edges.ts';
import type { Need } from './needs.ts';
import { overlaps, pairs, requirePairStep } from './pairs.ts';
import { stagesOf } from './read.ts';
import { carriedOver, choicesIn, clockNames, flatStages, isBetween, pathsIn, type Sort, type Stage } from './stage.ts';

/** What a row starts as: zero, the parameters, or random numbers, the same on all replicas. */
export type Start = 'zero' | 'x' | 'random';

/**
 * A method as its paper writes it: rows that each replica keeps from step to step, what it needs of the topology, and the formulas of a step.
 * One file and one row in methods.ts; everything else is derived from it.
 *
 * In the text of a step: x is the row of parameters, eta the learning rate (etaBefore: of the step before), t the step from 0 of `steps`, and settings
 * that are numbers go by their names. grad(r) is the gradient of the step's batch at r, again(r) that of the same batch at
 * another point, distil(r, k) that of how far what r answers to that batch is from what k answers, evolve(r, 25, 50) where r comes to
 * along its tangent kernel on the batches of the replica and its neighbours, after that one of these numbers of steps that leaves the least loss, T(g) the direction of the experiment's optimizer, W(r) the average with the neighbours, pull(r) the same as
 * W(r) - r, but added up as differences, so that what one replica gains its neighbour loses to the last bit (rows that add up such differences
 * would drift otherwise), pair(x) the mean with one neighbour, which takes it as well, whenever the replica has computed (pairs.ts), A(r) the average with column-stochastic weights, mean(r) the exact mean over all replicas, norm(r) a replica's L2 norm; h += C(r - h) sends a
 * compressed message. Of a method with edges: over(r) is what the other end of the edge has as r, others(m) the sum of m over the replica's
 * other edges, sum(m) over all of them, weight that of the edge in W, n the number of replicas; if edges are those over which a replica is heard, weight is the share
 * that the sender gives, heard is 1 if the message over it came and 0 if not, share what a replica keeps of itself. Of a method with servers: W(r) is the average
 * among them, up(r) what servers have after clients sent them r, down(r) what clients begin their next round with. spread(r, 16) is the mean of ‖r_i − r̄‖² over all replicas and centre(r, 16)
 * is ‖r̄‖², common(r, 16) the same less what noise adds to it, from sketches of so many numbers; rounded(r) is r in steps of as many bits as the setting `bits` says, and a mean of it costs as much less; momentum = r gives the experiment's optimizer its momentum. Conditions: every H { … } else { … }, at 3, 9 { … }, first { … }, last { … },
 * if a >= b { … } by what numbers were when the step began; these must be the same on all replicas.
 */
export interface Method<Shape extends z.ZodRawShape = z.ZodRawShape> {
  readonly name: string;
  /** Names other tools use. */
  readonly aliases?: readonly string[];
  readonly title: string;
  readonly summary: string;
  readonly paper: string;
  readonly settings: Shape;
  /** Rows that outlast a step, and what they start as. x is always there. */
  readonly rows?: Readonly<Record<string, Start>>;
  /** Numbers of each replica that outlast a step, and what they start as. */
  readonly numbers?: Readonly<Record<string, number>>;
  /** The edges over which single messages go, and rows and numbers that a replica keeps for each of its own. */
  readonly edges?: {
    readonly of: EdgeChoice;
    readonly rows?: Readonly<Record<string, Start>>;
    readonly numbers?: Readonly<Record<string, number>>;
  };
  /** What is probed, evaluated and merged, as a formula; x unless said. */
  readonly model?: string;
  /** Numbers that are recorded after each step. */
  readonly signals?: SignalNames;
  /** Its setting `servers` says how many replicas, the last ones, have no data: the topology is theirs, and they are the model. */
  readonly hasServers?: true;
  /** Whether it sends compressed messages, C(…): known without reading its formulas, since every process asks this of all methods. */
  readonly compresses?: boolean;
  readonly needs: readonly Need[];
  /** The settings with those filled in that follow from where it runs, when an experiment is read. */
  fill?(settings: z.output<z.ZodObject<Shape>>, place: MethodPlace): z.output<z.ZodObject<Shape>>;
  /** Further scalars that follow from the settings. */
  scalars?(settings: z.output<z.ZodObject<Shape>>): Readonly<Record<string, number>>;
  step(settings: z.output<z.ZodObject<Shape>>): string;
}

/** What a method that decides by itself when to average tells of it: the name of a number for each. */
export type SignalNames = Readonly<Partial<Record<'estimatedDistance' | 'threshold' | 'harm' | 'period', string>>>;

/** Where a method runs, as far as it is known before. */
export interface MethodPlace {
  readonly replicas: number;
  /** Of the optimizer. */
  readonly momentum: number;
  /** Of the first epoch, built when it is asked for. */
  topology(): Topology;
}

/** Infers the settings' types from their schema. */
export function method<Shape extends z.ZodRawShape>(definition: Method<Shape>): Method<Shape> {
  return definition;
}

/** A method with its settings: what the engine executes and all the rest is derived from. */
export interface Plan {
  readonly method: Method;
  /** What it needs of the topology, by itself or because of its memories. */
  readonly needs: readonly Need[];
  /** The text of its step. */
  readonly text: string;
  readonly stages: readonly Stage[];
  /** Sets the row `model`, if it is not simply x. */
  readonly model: readonly Stage[];
  readonly modelRow: string;
  /** Rows and numbers that a checkpoint must hold, x first, and what they start as. */
  readonly rows: Readonly<Record<string, Start>>;
  readonly numbers: Readonly<Record<string, number>>;
  /** Rows that a step sets before it reads them. */
  readonly scratch: readonly string[];
  /** Rows that are the same on all replicas, and those that others know without being told (derive.ts). */
  readonly equal: ReadonlySet<string>;
  readonly memories: ReadonlySet<string>;
  /** Settings and what follows from them, by name. */
  readonly scalars: Readonly<Record<string, number>>;
  /** Sets of edges. */
  readonly sets: number;
  /** Of a method whose replicas average in pairs, whenever they have computed: whether they compute on meanwhile. */
  readonly asynchronous: { readonly overlap: boolean } | undefined;
}

/** Where a method with edges runs; without, a pair of replicas. */
export interface Site {
  readonly replicas: number;
  readonly sets: number;
}

/** Checks the settings, reads the formulas, and derives what the method keeps. */
export function planOf(
  method: Method,
  given: Readonly<Record<string, unknown>> = {},
  { replicas: n, sets }: Site = { replicas: 2, sets: 1 },
): Plan {
  const settings = z.strictObject(method.settings).parse(given) as never;
  const { edges } = method;
  const scalars = { ...(edges && { n }), ...numbersIn(settings), ...method.scalars?.(settings) };
  const inSets = (name: string) => Array.from({ length: sets }, (_, set) => edgeName(name, set + 1));
  const perEdge = <T>(of: Readonly<Record<string, T>> = {}): Record<string, T> =>
    Object.fromEntries(Object.entries(of).flatMap(([name, from]) => inSets(name).map((each) => [each, from])));
  const ofEdge = edges === undefined ? [] : edges.of === 'heard' ? ['weight', 'heard'] : ['weight'];
  const declared: Readonly<Record<string, Start>> = { x: 'x', ...method.rows, ...perEdge(edges?.rows) };
  const declaredNumbers: Readonly<Record<string, number>> = { ...method.numbers, ...perEdge(edges?.numbers) };
  const sorts: readonly (readonly [string, Sort])[] = [
    ...[...clockNames, ...Object.keys(scalars)].map((name) => [name, 'scalar'] as const),
    ...Object.keys(declared).map((name) => [name, 'row'] as const),
    ...[...Object.keys(declaredNumbers), ...ofEdge.flatMap(inSets), ...(edges?.of === 'heard' ? ['share'] : [])].map(
      (name) => [name, 'number'] as const,
    ),
  ];
  const twice = sorts.find(([name], index) => sorts.findIndex(([other]) => other === name) < index);
  if (twice !== undefined) throw new UserError(`method ${method.name}: the name "${twice[0]}" is used twice`);
  const known = Object.fromEntries(sorts);
  try {
    const text = method.step(settings);
    const ofEdges = edges && { names: [...ofEdge, ...Object.keys({ ...edges.rows, ...edges.numbers })], sets };
    const { stages, names } = stagesOf(text, known, ofEdges);
    if (
      method.hasServers === undefined &&
      flatStages(stages).some((stage) => stage.do === 'mix' && isBetween(stage.by))
    )
      throw new UserError('up and down are for methods with servers');
    const model = method.model === undefined ? [] : stagesOf(`model = ${method.model}`, names).stages;
    const asynchronous = pairs(stages) ? { overlap: overlaps(stages) } : undefined;
    if (asynchronous) requirePairStep(stages);
    const carried = new Set([...carriedOver([...stages, ...model]), ...Object.values(method.signals ?? {})]);
    for (const name of carried)
      if (known[name] === undefined)
        throw new UserError(`"${name}" is read before it is set, so it needs a start value in rows`);
    // Of edges, a replica with a single one may read nothing.
    const unread = Object.keys({ ...method.rows, ...method.numbers }).filter((name) => !carried.has(name));
    if (unread.length > 0 && Object.keys(method.settings).length === 0 && method.scalars === undefined)
      throw new UserError(`"${unread[0]}" is set in every step before it is read: leave it out of rows`);
    // With some of its settings a method may do without.
    const rows = without(declared, unread);
    const numbers = without(declaredNumbers, unread);
    const ofSort = (sort: Sort) => Object.keys(names).filter((name) => names[name] === sort);
    checkChoices(stages, ofSort('number'));
    const scratch = ofSort('row').filter((name) => !(name in rows));
    const all = [...Object.keys(rows), ...scratch];
    const memories = memoryRows(stages, all, ofSort('number'));
    return {
      method,
      // Whoever hears a replica must have heard all that it said.
      needs: memories.size > 0 && !method.needs.includes('static') ? [...method.needs, 'static'] : method.needs,
      text,
      stages,
      model,
      modelRow: model.length === 0 ? 'x' : 'model',
      rows,
      numbers,
      scratch,
      equal: equalRows(stages, all, ofSort('number')),
      memories,
      scalars,
      sets,
      asynchronous,
    };
  } catch (error) {
    if (error instanceof UserError) throw new UserError(`method ${method.name}: ${error.message}`, { cause: error });
    throw error;
  }
}

/** All replicas must choose alike, and must know what they choose by when a step begins. */
function checkChoices(stages: readonly Stage[], numbers: readonly string[]): void {
  // All ways through a step are looked at before a run.
  pathsIn(stages, () => false);
  const equal = equalNumbers(stages, numbers);
  const named = choicesIn(stages).flatMap((choice) => [choice.if, choice.least].flatMap(namesIn));
  const differs = named.find((name) => numbers.includes(name) && !equal.has(name));
  if (differs !== undefined)
    throw new UserError(`"${differs}" may differ between replicas, so that no condition can hang on it`);
}

const without = <T>(record: Readonly<Record<string, T>>, names: readonly string[]): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));

function numbersIn(settings: Readonly<Record<string, unknown>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(settings).filter((entry): entry is [string, number] => typeof entry[1] === 'number'),
  );
}
