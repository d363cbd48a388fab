import { type Action, isExchange, keptRows, type StepActions } from '../algorithm/actions.ts';
import type { RowCompressor } from '../algorithm/compressors.ts';
import type { Plan } from '../algorithm/method.ts';
import { type Placed, Places } from '../algorithm/places.ts';
import { sketchCodes, sketchFigure, sketchOf } from '../algorithm/sketch.ts';
import type { By } from '../algorithm/stage.ts';
import { evaluate, type Formula } from '../base/formula.ts';
import { RowFormula } from '../kernel/formula.ts';
import type { Rows } from '../kernel/memory.ts';
import type { EdgeSets } from '../topology/edges.ts';
import { type Mixing, stopsOf } from '../topology/mixing.ts';
import type { PlacedRow, Transport } from '../transport/transport.ts';
import type { Clock } from './clock.ts';
import { Functions } from './functions.ts';
import { ownReplicas } from './measure.ts';
import { Memories } from './memories.ts';
import { ReplicaNumbers } from './replica-numbers.ts';
import type { Later, Outcome, Replicas } from './replicas.ts';

/** When a step is, with which weights rows are mixed in it, and who looks on. */
export interface Occasion {
  readonly t: number;
  /** W and its column-stochastic form. */
  weights(by: By): Mixing;
  /** Whether a replica trains in this step; all do unless said. */
  trains?(replica: number): boolean;
  /** What is about to be averaged. */
  probe(rows: Rows): void;
  /** All replicas have their gradients: in these rows, unless they were used at once. */
  signal(gradients: Rows | undefined): void;
  /** Whether a row need not be averaged with the neighbours in this step after all. */
  spared?(action: Action, rows: Rows): boolean;
  /** A row was averaged with the neighbours. */
  mixed(action: Action): void;
}

/** What an executor works with. */
export interface Machine {
  readonly columns: number;
  readonly clock: Clock;
  readonly compressor: RowCompressor | undefined;
  readonly seed: number;
  readonly edges?: EdgeSets | undefined;
  /** Nobody looks at averaged rows before they are used. */
  readonly lazy?: boolean;
}

type Local = Exclude<Action['do'], 'mix' | 'mean' | 'send' | 'updateTogether' | 'sketch' | 'probe' | 'signal'>;
type Of<K extends Action['do']> = Placed<Rows> & { readonly action: Extract<Action, { do: K }> };

/** Of a replica that is away, or does not train. */
const noOutcome: Outcome = { loss: Number.NaN, accuracy: Number.NaN, gradientNorm: Number.NaN };

const isLocal = (action: Action) => !isExchange(action) && action.do !== 'probe' && action.do !== 'signal';

/**
 * Carries out the actions of steps on the replicas of one worker, together with the other workers. What needs nobody else is done
 * for one replica after the other, while its rows are in the cache.
 */
export class Executor {
  readonly places: Places<Rows>;
  readonly #transport: Transport;
  readonly #replicas: Replicas;
  readonly #clock: Clock;
  readonly #memories: Memories;
  readonly #isRow: (name: string) => boolean;
  readonly numbers: ReplicaNumbers;
  readonly #formulas = new Map<Formula, RowFormula>();
  readonly #buffer: Float32Array;
  readonly #functions: Functions;
  readonly #lazy: boolean;
  /** The average of x that is still to be made: of the rows where x is, with these weights. */
  #pending: Mixing | undefined;
  /** Whether all have met since this worker did something alone. */
  #met = false;
  /** Of own replicas, in their order; those that are away have none. */
  outcomes: Outcome[] = [];
  /** Replicas that take no part in the step. */
  away: ReadonlySet<number> = new Set();
  #scalars: ReadonlyMap<string, number> = new Map();
  #t = 0;
  #trains: (replica: number) => boolean = () => true;
  /** Who hears whom in this step, if replicas use the samples of others. */
  #round: Mixing | undefined;

  constructor(plan: Plan, transport: Transport, replicas: Replicas, machine: Machine) {
    this.places = new Places(
      keptRows(plan),
      transport.matrices.map((name) => transport.rows(name)),
    );
    this.#transport = transport;
    this.#replicas = replicas;
    this.#clock = machine.clock;
    this.#lazy = machine.lazy ?? false;
    this.#memories = new Memories(plan, transport, machine);
    this.#functions = new Functions(plan, transport, replicas.layout, machine.seed);
    const rows = new Set([...Object.keys(plan.rows), ...plan.scratch, plan.modelRow]);
    this.#isRow = (name) => rows.has(name);
    this.numbers = new ReplicaNumbers(plan.numbers, machine.edges, transport);
    this.#buffer = new Float32Array(machine.columns);
  }

  async step({ actions, dead, scalars }: StepActions, occasion: Occasion): Promise<void> {
    this.#scalars = scalars;
    this.#t = occasion.t;
    this.#trains = (i) => occasion.trains?.(i) ?? true;
    this.outcomes = Array.from({ length: this.#transport.last - this.#transport.first }, () => noOutcome);
    // Once rows are mixed, the next round begins.
    const pools = actions.some((action) => action.do === 'evolve');
    this.#round = pools ? this.#transport.surviving(occasion.weights('W')) : undefined;
    this.#memories.begin(occasion.t, actions, occasion.weights, (name) => this.places.of(name));
    for (let at = 0; at < actions.length; ) {
      const end = actions.findIndex((action, index) => index >= at && !isLocal(action));
      const next = end < 0 ? actions.length : end;
      const joined = next === at + 1 && actions[at]!.do === 'adapt' ? this.#pending : undefined;
      if (joined === undefined) this.settle();
      this.#pending = undefined;
      const local = actions.slice(at, next).map((action, k) => this.places.place(action, dead[at + k]!));
      if (local.length > 0) {
        await this.#locally(local, actions.slice(next), occasion, joined);
        this.#met = false;
      }
      // Others may still need the rows that were averaged.
      if (joined !== undefined) this.#meet();
      if (next < actions.length && !this.#mixLater(actions[next]!, occasion))
        await this.#together(this.places.place(actions[next]!, dead[next]!), occasion);
      at = next + 1;
    }
  }

  /** Leaves the average of x to the next local step, which makes it row by row and so reads and writes every row once less. */
  #mixLater(action: Action, occasion: Occasion): boolean {
    if (!this.#lazy || action.do !== 'mix' || action.from !== 'x' || action.into !== 'x') return false;
    if (action.by !== 'W' && action.by !== 'A') return false;
    const mixing = occasion.weights(action.by);
    if (!this.#transport.mixesRows(mixing)) return false;
    this.#pending = mixing;
    this.#meet();
    occasion.mixed(action);
    return true;
  }

  /** All have done what they do alone; once is enough. */
  #meet(): void {
    if (!this.#met) this.#transport.barrier();
    this.#met = true;
  }

  /** Collective: makes the average that was left to the next step. Before that x is not what it should be. */
  settle(): void {
    if (this.#pending !== undefined) this.mixAgain('x', this.#pending);
    this.#pending = undefined;
  }

  /** row ← W row once more. */
  mixAgain(row: string, mixing: Mixing): void {
    const { from, to } = this.places.again(row);
    this.#clock.time('mix', () => this.#transport.mix(mixing, from, to));
  }

  /** The gradients of the step's batches at another row, in a matrix that is free until the next action. */
  async gradientsAgain(row: string): Promise<Rows> {
    const [from, to] = [this.places.of(row), this.places.spare];
    for (let i = this.#transport.first; i < this.#transport.last; i++)
      await this.#clock.time('compute', () => this.#replicas.gradientAgain(i, this.#t, from, to));
    return to;
  }

  /** One replica after the other; what the next exchange sends may go as soon as it is there. */
  async #locally(
    placed: readonly Placed<Rows>[],
    after: readonly Action[],
    occasion: Occasion,
    joined: Mixing | undefined,
  ): Promise<void> {
    const next = after.find(({ do: kind }) => kind !== 'probe' && kind !== 'signal');
    const sent =
      next?.do === 'mix' &&
      next.sort === 'row' &&
      occasion.spared === undefined &&
      (next.by === 'W' || next.by === 'A') &&
      !this.#memories.knows(next.from) &&
      !this.#functions.packs(next.from)
        ? this.places.of(next.from)
        : undefined;
    const mixing = sent === undefined ? undefined : occasion.weights((next as Of<'mix'>['action']).by);
    const { first, last } = this.#transport;
    for (let k = 0; k < last - first; k++) {
      // To and fro: those that were last in one step are still in the cache in the next.
      const i = this.#t % 2 === 0 ? first + k : last - 1 - k;
      if (this.away.has(i)) continue;
      for (const each of placed) {
        const going = this.#local[each.action.do as Local](each as never, i, joined);
        if (going instanceof Promise) await going;
      }
      if (sent !== undefined) this.#transport.announce(mixing!, sent, i);
    }
    const known = placed.filter(({ action }) => this.#memories.isKept(action)) as Of<'set'>[];
    for (const j of this.#memories.heard) for (const each of known) this.#local.set(each, j);
  }

  readonly #local: {
    readonly [K in Local]: (placed: Of<K>, i: number, joined?: Mixing) => Promise<void> | void;
  } = {
    adapt: ({ rows, out }, i, joined) => {
      const mixed = joined && this.#clock.time('mix', () => this.#transport.mixRow(joined, rows.x!, i));
      if (!this.#trains(i)) {
        this.#transport.kernel.copy(out!, i, mixed?.rows ?? rows.x!, mixed?.row ?? i);
        return;
      }
      this.#load(i);
      const rate = this.#scalars.get('eta')!;
      const work = () => this.#replicas.adapt(i, this.#t, rate, mixed?.rows ?? rows.x!, out!, mixed?.row);
      return this.#found(i, this.#clock.time('compute', work));
    },
    gradient: ({ action: { at, again }, rows, out }, i) => {
      if (!again) this.#load(i);
      const by = again ? 'gradientAgain' : 'gradient';
      const outcome = this.#clock.time('compute', () => this.#replicas[by](i, this.#t, rows[at]!, out!));
      if (!again) return this.#found(i, outcome);
      return outcome instanceof Promise ? outcome.then(() => {}) : undefined;
    },
    distil: async ({ action: { at, teacher }, rows, out }, i) => {
      const work = () => this.#replicas.distil(i, this.#t, rows[at]!, rows[teacher]!, out!);
      await this.#clock.time('compute', work);
    },
    evolve: async ({ action: { at, taus }, rows, out }, i) => {
      const { start, source } = this.#round!;
      const heard = [...new Set([i, ...source.subarray(start[i], stopsOf(this.#round!)[i])])].sort((a, b) => a - b);
      const rate = this.#scalars.get('eta')!;
      const work = () => this.#replicas.evolve(i, this.#t, rate, taus, heard, rows[at]!, out!);
      await this.#found(i, this.#clock.time('compute', work));
    },
    update: ({ action, rows, out }, i) =>
      this.#optimize('update', rows.x!, { rows: rows[action.gradient]!, row: i }, i, (next) => out!.write(i, next)),
    direction: ({ action, rows, out }, i) =>
      this.#optimize('direction', rows.x!, { rows: rows[action.gradient]!, row: i }, i, (d) => out!.write(i, d)),
    set: ({ action, rows, out }, i) => {
      if (out === undefined) return;
      let formula = this.#formulas.get(action.to);
      if (formula === undefined) this.#formulas.set(action.to, (formula = new RowFormula(action.to, this.#isRow)));
      const pass = formula;
      this.#clock.time('compute', () => pass.run(out, i, rows, (name) => this.#number(name, i)));
    },
    apply: ({ action, rows, out }, i) => {
      const scalar = (name: string) => this.#scalars.get(name)!;
      this.#clock.time('compute', () => this.#functions.apply(action, rows, out!, i, this.#t, scalar));
    },
    setNumber: ({ action }, i) => {
      this.numbers.from(action.number, i)[0] = evaluate(action.to, (name) => this.#number(name, i));
    },
    momentum: ({ action, rows }, i) => this.#replicas.remember(i, rows[action.row]!),
    norm: ({ action, rows }, i) => {
      const row = rows[action.row]!;
      this.#transport.kernel.norms(row, i, [0, row.columns], this.numbers.from(action.number, i));
    },
  };

  #found(i: number, outcome: Later<Outcome>): Promise<void> | undefined {
    if (outcome instanceof Promise) return outcome.then((found) => this.#found(i, found));
    this.outcomes[i - this.#transport.first] = outcome;
    return undefined;
  }

  #load(i: number): void {
    this.#clock.time('data', () => this.#replicas.load(i, this.#t));
  }

  #optimize(
    by: 'update' | 'direction',
    x: Rows,
    gradient: PlacedRow,
    i: number,
    use: (result: Float32Array) => void,
  ): Promise<void> | undefined {
    const rate = this.#scalars.get('eta')!;
    const result = this.#clock.time('compute', () => this.#replicas[by](i, this.#t, rate, x, gradient));
    if (result instanceof Promise) return result.then(use);
    use(result);
    return undefined;
  }

  #number(name: string, i: number): number {
    return this.#scalars.get(name) ?? this.numbers.of(name, i);
  }

  /** A figure of a row over all replicas: the sketches are exchanged, and all sum them up alike. */
  #sketch({ figure, buckets, number }: Of<'sketch'>['action'], rows: Rows): void {
    const transport = this.#transport;
    const sketches = this.#clock.time('compute', () => {
      const codes = sketchCodes(rows.columns, buckets, this.#t);
      return ownReplicas(transport).flatMap((i) => {
        rows.read(i, this.#buffer);
        return [...sketchOf(this.#buffer, codes, buckets)];
      });
    });
    const all = transport.gather(Float64Array.from(sketches), buckets);
    const of = transport.present.map((i) => all.subarray(buckets * i, buckets * (i + 1)));
    this.numbers.own(number).fill(sketchFigure(figure, of));
  }

  async #together(placed: Placed<Rows>, occasion: Occasion): Promise<void> {
    const { action, rows, out } = placed;
    const transport = this.#transport;
    switch (action.do) {
      case 'probe':
        return occasion.probe(rows[action.row]!);
      case 'signal':
        return occasion.signal(action.gradient === undefined ? undefined : rows[action.gradient]);
      case 'mix': {
        if (occasion.spared?.(action, rows[action.from]!)) {
          for (const i of ownReplicas(transport)) transport.kernel.copy(out!, i, rows[action.from]!, i);
          return;
        }
        const mixing = occasion.weights(action.by);
        const form = action.by === 'pull' ? 'difference' : 'sum';
        if (action.sort === 'number') this.numbers.mix(action.from, action.into, mixing);
        else if (this.#functions.sendsPart(action.from))
          this.#clock.time('mix', () => this.#functions.handOver(action.from, mixing, rows[action.from]!, out!));
        else {
          const [input, packed] = [rows[action.from]!, this.#functions.packs(action.from)];
          const known = packed || this.#memories.knows(action.from);
          this.#clock.time('mix', () => {
            if (packed) this.#functions.tell(action.from, mixing, input);
            transport.mix(mixing, input, out!, form, known);
          });
        }
        return occasion.mixed(action);
      }
      case 'mean': {
        const mean = this.#clock.time('mix', () => transport.mean(rows[action.from]!));
        for (let i = transport.first; i < transport.last; i++) transport.kernel.copy(out!, i, mean, 0);
        // Nobody may begin the next mean or mix before all have read this one.
        return transport.barrier();
      }
      case 'updateTogether': {
        const mean = this.#clock.time('mix', () => transport.mean(rows[action.meanOf]!));
        return this.#optimize('update', rows.x!, { rows: mean, row: 0 }, transport.first, (next) => {
          for (let i = transport.first; i < transport.last; i++) out!.write(i, next);
        });
      }
      case 'sketch':
        return this.#sketch(action, rows[action.row]!);
      case 'send':
        return this.#clock.time('mix', () =>
          this.#memories.send(rows[action.row]!, rows[action.memory]!, occasion.weights),
        );
      default:
        throw new RangeError(`"${action.do}" needs nobody else`);
    }
  }
}
