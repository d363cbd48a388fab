import { type Action, keptRows, type Moment, readsOf, stepOf } from './actions.ts';
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

  #write(action: Action, dead: readonly string[]): M | undefined {
    switch (action.do) {
      case 'set': {
        const { row, to } = action;
        const source = 'name' in to ? to.name : undefined;
        // x = s, and s is not needed any more: x takes its place.
        if (source !== undefined && source !== row && this.#at.has(source) && dead.includes(source)) {
          this.#move(row, this.of(source));
          this.#at.delete(source);
          return undefined;
        }
        if (!this.#at.has(row)) this.#at.set(row, this.#take());
        return this.of(row);
      }
      case 'mix':
        return action.sort === 'row' ? this.#move(action.into, this.#take()) : undefined;
      case 'gradient':
      case 'direction':
      case 'adapt':
      case 'update':
      case 'mean':
        return this.#move(action.into, this.#take());
      case 'updateTogether':
        return this.of(action.into);
      default:
        return undefined;
    }
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

/** The matrices that a method needs besides those of the transport: walks through the different steps there are. */
export function matricesOf(plan: Plan, options?: { readonly signal?: boolean }): number {
  const periods = plan.stages.flatMap((stage) =>
    stage.do === 'when' && typeof stage.when === 'object' ? [plan.scalars[stage.when.every]!] : [],
  );
  const moments = [0, 1, ...periods.flatMap((period) => [period - 1, period])].flatMap((t): Moment[] => [
    { t, last: false, eta: 1, etaBefore: 1 },
    { t, last: true, eta: 1, etaBefore: 1 },
  ]);
  const peaks = moments.map((moment) => {
    const places = new Places(
      keptRows(plan),
      Array.from({ length: 100 }, (_, i) => i),
    );
    const { actions, dead } = stepOf(plan, moment, options);
    for (const [index, action] of actions.entries()) places.place(action, dead[index]!);
    return places.peak;
  });
  return Math.max(...peaks);
}
