import type { Rows } from '../kernel/memory.ts';
import type { Exchange, PairTask } from '../network/queue.ts';
import { blockOf, type Transport } from '../transport/transport.ts';
import type { Clock } from './clock.ts';
import { ReplicaNumbers } from './replica-numbers.ts';
import type { Replicas } from './replicas.ts';
import { type OwnStep, turnsOf, wavesOf } from './waves.ts';

/** What is known of the last gradient that each replica applied. */
const found = ['loss', 'accuracy', 'gradientNorm'] as const;

/**
 * Carries out what the queue of pairs says on the replicas of one worker, together with the other workers: wave by wave, gradients as early as they are
 * there to be computed. Gradients begin at rows s and are kept in g until they are applied; with overlap steps take turns with two rows s.
 */
export class PairExecutor {
  readonly x: Rows;
  /** Where gradients that are not applied yet began. */
  readonly begun: readonly Rows[];
  /** Between steps it holds nothing. */
  readonly gradients: Rows;
  readonly numbers: ReplicaNumbers;
  readonly #transport: Transport;
  readonly #replicas: Replicas;
  readonly #clock: Clock;
  readonly #blocks: readonly { readonly first: number; readonly last: number }[];

  /** The transport has the matrices of an asynchronous plan. */
  constructor(transport: Transport, replicas: Replicas, clock: Clock) {
    const matrices = transport.matrices.map((name) => transport.rows(name));
    this.x = matrices[0]!;
    this.begun = matrices.slice(1, -1);
    this.gradients = matrices.at(-1)!;
    const unknown = Object.fromEntries(found.map((name) => [name, Number.NaN]));
    this.numbers = new ReplicaNumbers(unknown, undefined, transport);
    this.#transport = transport;
    this.#replicas = replicas;
    this.#clock = clock;
    // How many threads other ranks have is not known: to share the work well, as if replicas were dealt evenly.
    const { replicas: n, workers, worker } = transport;
    const others = Array.from({ length: workers }, (_, w) => blockOf(n, workers, w)).toSpliced(worker, 1);
    this.#blocks = [transport, ...others];
  }

  /** @param rate the learning rate of an own step */
  async step(tasks: readonly PairTask[], rate: (step: number) => number): Promise<void> {
    const { waves, gradients } = wavesOf(tasks);
    const turns = turnsOf(gradients, waves.length, this.#blocks);
    for (const [index, { exchanges, begins }] of waves.entries()) {
      for (const own of turns[index]!) await this.#gradient(own);
      const pairs = exchanges.map(({ replica, partner }) => [replica, partner] as const);
      if (pairs.length > 0) this.#clock.time('mix', () => this.#transport.pair(pairs, this.x));
      for (const exchange of exchanges) if (this.#isOwn(exchange)) await this.#apply(exchange, rate(exchange.step));
      for (const own of begins) if (this.#isOwn(own)) this.#begin(own);
    }
  }

  #isOwn({ replica }: OwnStep): boolean {
    return replica >= this.#transport.first && replica < this.#transport.last;
  }

  #begunAt(step: number): Rows {
    return this.begun[step % this.begun.length]!;
  }

  async #gradient({ replica, step }: OwnStep): Promise<void> {
    this.#clock.time('data', () => this.#replicas.load(replica, step));
    const work = () => this.#replicas.gradient(replica, step, this.#begunAt(step), this.gradients);
    const outcome = await this.#clock.time('compute', work);
    for (const name of found) this.numbers.from(name, replica)[0] = outcome[name];
  }

  /** Where the gradient began is not needed any more: the new parameters can be written there, and stay if the next one begins at once. */
  #apply({ replica, step }: Exchange, rate: number): Promise<void> {
    const next = this.#begunAt(step);
    return this.#clock.time('compute', async () => {
      await this.#replicas.updateRow(replica, step, rate, this.x, this.gradients, next);
      this.#transport.kernel.copy(this.x, replica, next, replica);
    });
  }

  #begin({ replica, step }: OwnStep): void {
    if (this.begun.length === 1) return;
    this.#clock.time('compute', () => this.#transport.kernel.copy(this.#begunAt(step), replica, this.x, replica));
  }
}
