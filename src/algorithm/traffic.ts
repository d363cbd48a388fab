import { entriesIn, type Mixing } from '../topology/mixing.ts';
import { type Action, isExchange, readsOf, type StepActions, writesOf } from './actions.ts';
import { sentBytes, type TensorPlace } from './function.ts';
import { rowFunctions } from './functions.ts';
import type { Plan } from './method.ts';
import { sketchedNumbers } from './sketch.ts';
import type { By } from './stage.ts';

/** What a replica sends in a step, on average over the replicas. */
export interface Traffic {
  readonly bytes: number;
  readonly messages: number;
}

export interface Sizes {
  /** Replicas that take part, and how many others hear a replica on average. */
  readonly replicas: number;
  readonly degree: number;
  /** The same for each exchange, if they differ. */
  readonly degreeBy?: ((by: By) => number) | undefined;
  readonly columns: number;
  readonly tensors?: readonly TensorPlace[];
  /** Of a compressed row. */
  readonly compressedBytes: number;
  /** Samples in a replica's batch and the classes that are told apart: what a Jacobian is for; one of each unless said. */
  readonly answers?: { readonly samples: number; readonly classes: number } | undefined;
}

/** Parameters of which no more is known than how many they are. */
export const vector = (size: number): TensorPlace => ({ offset: 0, size, shape: [size] });

const floatBytes = 4;
export const doubleBytes = 8;

/** Each neighbour gets the whole row. Of W's replicas `n` are there; those that are lost keep to themselves in it. */
export function gossipTraffic(mixing: Mixing, n: number, columns: number): Traffic {
  const messages = (entriesIn(mixing) - mixing.n) / n;
  return { messages, bytes: messages * columns * floatBytes };
}

/**
 * What replicas that evolve on the samples of their neighbours hear of them: the Jacobian of each sample, its answers and its label. Here every rank
 * has all data, so none of it is sent; it is counted as what it would cost if each had only its own.
 */
export const jacobianBytes = ({ columns, answers: { samples, classes } = { samples: 1, classes: 1 } }: Jacobian) =>
  samples * classes * (columns * floatBytes + doubleBytes);
export type Jacobian = Pick<Sizes, 'columns' | 'answers'>;

/** The mean of a row on every replica, by ring all-reduce: 2(n−1) messages of an n-th of the row. */
export function meanTraffic(n: number, columns: number): Traffic {
  const messages = 2 * (n - 1);
  return { messages, bytes: (messages / n) * columns * floatBytes };
}

/** An n-th of the mean of a row on each replica, which is the first half of that: n−1 messages. */
export function scatteredMeanTraffic(n: number, columns: number): Traffic {
  const messages = n - 1;
  return { messages, bytes: (messages / n) * columns * floatBytes };
}

/** Sums of a few numbers on every replica, by recursive doubling. */
export function numbersTraffic(n: number, numbers: number): Traffic {
  const messages = Math.ceil(Math.log2(n));
  return { messages, bytes: messages * numbers * doubleBytes };
}

/**
 * To know Ξ on every replica. Because of
 *
 *     n Ξ² = Σ ‖x_i − x̄‖² = Σ ‖x_i‖² − n ‖x̄‖²
 *
 * nobody needs the whole x̄: each replica gets an n-th of it, and two numbers are summed over all, ‖x_i‖² and ‖·‖² of that n-th.
 * Gossip with a doubly stochastic W keeps x̄: if that is all that happened since Ξ was known, one new sum Σ ‖x_i‖² is enough.
 */
export function distanceTraffic(n: number, columns: number, meanKnown: boolean): readonly Traffic[] {
  return meanKnown ? [numbersTraffic(n, 1)] : [scatteredMeanTraffic(n, columns), numbersTraffic(n, 2)];
}

type SketchAction = Extract<Action, { do: 'sketch' }>;

/** The sketches that begin here and go together: one after the other, with nothing between them but what concerns a replica alone. */
export function sketchesFrom(actions: readonly Action[], at: number): readonly SketchAction[] {
  const isSketch = (action: Action | undefined): action is SketchAction => action?.do === 'sketch';
  if (!isSketch(actions[at]) || isSketch(actions.slice(0, at).findLast(isExchange))) return [];
  const exchanges = actions.slice(at).filter(isExchange);
  const end = exchanges.findIndex((action) => !isSketch(action));
  return exchanges.slice(0, end < 0 ? undefined : end).filter(isSketch);
}

/**
 * Follows from the actions: rows that are mixed one after the other go in one message, until something is computed from what was received; a
 * memory that is mixed has been sent before; an exact mean is a ring all-reduce.
 */
export function trafficOf(
  plan: Plan,
  { actions, scalars }: StepActions,
  { replicas, degree, degreeBy = () => degree, columns, tensors = [vector(columns)], compressedBytes, answers }: Sizes,
): Traffic {
  let [bytes, messages] = [0, 0];
  const scalar = (name: string) => scalars.get(name)!;
  /** Rows that are sent as shorter messages. */
  const packed = new Map<string, number>();
  /** What came in the messages that are still open: of each set of edges, and of all neighbours. */
  const open = new Map<By | undefined, Set<string>>();
  const messageOf = (by: By) => (typeof by === 'number' ? by : undefined);
  for (const [at, action] of actions.entries()) {
    // A copy of what was received computes nothing from it.
    const copied = (action.do === 'set' || action.do === 'setNumber') && 'name' in action.to ? action.to.name : '';
    const source = [...open.values()].find((received) => received.has(copied));
    if (source !== undefined) {
      for (const name of writesOf(action)) source.add(name);
      continue;
    }
    for (const [by, received] of open) if (readsOf(action).some((name) => received.has(name))) open.delete(by);
    if (action.do === 'mix' && !plan.memories.has(action.from)) {
      // Of pairs, one exchange of its own and on average one that another asks for.
      const hearers = action.by === 'pair' ? 2 : degreeBy(action.by);
      const heard = typeof action.by === 'number' ? hearers / plan.sets : hearers;
      const whole = (action.sort === 'row' ? columns : 1) * floatBytes;
      bytes += heard * (packed.get(action.from) ?? whole);
      const received = open.get(messageOf(action.by));
      if (received === undefined) messages += heard;
      open.set(messageOf(action.by), (received ?? new Set()).add(action.into));
    }
    if (action.do === 'apply') {
      const short = sentBytes(rowFunctions[action.name]!, { tensors, scalar });
      if (short !== undefined) packed.set(action.into, short);
    }
    if (action.do === 'evolve') {
      bytes += degree * jacobianBytes({ columns, answers });
      messages += degree;
    }
    if (action.do === 'send') {
      bytes += degree * compressedBytes;
      messages += degree;
    }
    const sketches = sketchesFrom(actions, at);
    if (sketches.length > 0) {
      const sums = numbersTraffic(replicas, sketchedNumbers(sketches));
      bytes += sums.bytes;
      messages += sums.messages;
    }
    if (action.do === 'mean' || action.do === 'updateTogether') {
      const mean = meanTraffic(replicas, columns);
      const short = action.do === 'mean' ? packed.get(action.from) : undefined;
      bytes += short === undefined ? mean.bytes : (mean.messages / replicas) * short;
      messages += mean.messages;
    }
  }
  return { bytes, messages };
}
