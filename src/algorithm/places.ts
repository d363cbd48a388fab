import { type Action, differentSteps, keptRows, readsOf, type Wishes } from './actions.ts';
import type { Plan } from './method.ts';

/** An action with the matrices it reads and writes; without `out` it writes none, or the memory it is about in place. */
export interface Placed<M> {
  readonly action: Action;
  readonly rows: Readonly<Record<string, M>>;
  readonly out: M | undefined;
}

/**
 * Which matrix holds which row. Names move from matrix to matrix: programs and averages write another matrix than they read, and the one that
 * is not needed any more is free for the next.
 */
export class Places<M> {
  readonly #at = new Map<string, M>();
  readonly #free: M[];
  /** The most matrices that were in use at once. */
  peak = 0;

  /** @param matrices as many as `matricesOf` counts */
  constructor(names: readonly string[], matrices: readonly M[]) {
    this.#free = matrices.toReversed();
    for (const name of names) this.#at.set(name, this.#take());
  }

  of(name: string): M {
    return this.#at.get(name)!;
  }

  /** Takes the next action of a step: afterwards every row is where the one after it finds it. */
  place(action: Action, dead: readonly string[]): Placed<M> {
    const rows = Object.fromEntries(
      readsOf(action).flatMap((name) => (this.#at.has(name) ? [[name, this.of(name)]] : [])),
    );
    const out = this.#write(action, dead);
    for (const name of dead) this.#release(name);
    return { action, rows, out };
  }

  /** A matrix that holds nothing. */
  get spare(): M {
    return this.#free.at(-1)!;
  }

  /** A row is written anew from itself: from one matrix to another. */
  again(name: string): { readonly from: M; readonly to: M } {
    const from = this.of(name);
    const to = this.#take();
    this.#move(name, to);
    return { from, to };
  }

  #write(action: Action, dead: readonly string[]): M | undefined {
    switch (action.do) {
      case 'set': {
        const { row, to } = action;
        const source = 'name' in to ? to.name : undefined;
        // x = s, and s is not needed any more: x takes its place.
        if (source !== undefined && source !== row && this.#at.has(source) && dead.includes(source)) {
          this.#rename(source, row);
          return undefined;
        }
        if (!this.#at.has(row)) this.#at.set(row, this.#take());
        return this.of(row);
      }
      case 'mix':
        return action.sort === 'row' ? this.#move(action.into, this.#take()) : undefined;
      case 'gradient':
      case 'distil':
      case 'evolve':
      case 'adapt':
      case 'mean':
      case 'apply':
        return this.#move(action.into, this.#take());
      case 'direction':
      case 'update':
        // The gradient is read before anything is written.
        return dead.includes(action.gradient)
          ? this.#rename(action.gradient, action.into)
          : this.#move(action.into, this.#take());
      case 'updateTogether':
        return this.of(action.into);
      default:
        return undefined;
    }
  }

  #rename(from: string, to: string): M {
    const matrix = this.of(from);
    this.#at.delete(from);
    return this.#move(to, matrix);
  }

  #move(name: string, to: M): M {
    this.#release(name);
    this.#at.set(name, to);
    return to;
  }

  #release(name: string): void {
    const matrix = this.#at.get(name);
    if (matrix === undefined) return;
    this.#free.push(matrix);
    this.#at.delete(name);
  }

  #take(): M {
    const matrix = this.#free.pop();
    if (matrix === undefined) throw new RangeError('a step needs more matrices than were counted');
    this.peak = Math.max(this.peak, this.#at.size + 1);
    return matrix;
  }
}

/** The matrices that a method needs besides those of the transport. */
export function matricesOf(plan: Plan, wishes?: Wishes): number {
  if (plan.asynchronous) return pairMatrices(plan).length;
  const enough = keptRows(plan).length + plan.scratch.length + 2;
  const peaks = differentSteps(plan, wishes).map(({ actions, dead }) => {
    const places = new Places(
      keptRows(plan),
      Array.from({ length: enough }, (_, i) => i),
    );
    for (const [index, action] of actions.entries()) places.place(action, dead[index]!);
    return places.peak;
  });
  // One is free at any time, for what is averaged again.
  return Math.max(keptRows(plan).length + 1, ...peaks);
}

/** Their names. */
export const matrixNames = (plan: Plan, wishes?: Wishes): readonly string[] =>
  plan.asynchronous ? pairMatrices(plan) : Array.from({ length: matricesOf(plan, wishes) }, (_, i) => `matrix ${i}`);

/** In pairs rows stay where they are: parameters, where gradients began, two of them if they overlap, and the gradient. */
const pairMatrices = ({ asynchronous }: Plan): readonly string[] =>
  asynchronous!.overlap ? ['x', 's', 's 1', 'g'] : ['x', 's', 'g'];

/** The programs that a run calls for. */
export interface Programs {
  /** Gradient and optimizer in one; if not, the gradient alone. */
  readonly adapt: boolean;
  /** The optimizer alone, and in which forms. */
  readonly update: boolean;
  readonly direction: boolean;
  /** Gradients are asked for a second time on the same batch. */
  readonly again: boolean;
  /** The temperature at which models learn from others, if they do. */
  readonly temperature: number | undefined;
  /** Models move along their tangent kernels. */
  readonly evolve: boolean;
  /** All replicas are equal and share one set of optimizer slots. */
  readonly common: boolean;
}

export function programsOf(plan: Plan, wishes?: Wishes): Programs {
  const actions = differentSteps(plan, wishes).flatMap((step) => step.actions);
  const kinds = new Set(actions.map((action) => action.do));
  return {
    adapt: kinds.has('adapt'),
    update: kinds.has('update') || kinds.has('updateTogether'),
    direction: kinds.has('direction'),
    again: kinds.has('signal') || actions.some((action) => action.do === 'gradient' && action.again),
    temperature: kinds.has('distil') ? (plan.scalars.temperature ?? 1) : undefined,
    evolve: kinds.has('evolve'),
    common: kinds.has('updateTogether'),
  };
}
