import { columnShare, Kernel } from '../kernel/kernel.ts';
import { type RowMemory, Rows } from '../kernel/memory.ts';
import { buildTopology } from '../topology/topology.ts';

/** What every thread of the measurement is told. */
export interface CrewData {
  readonly memory: RowMemory;
  readonly topologies: readonly { readonly kind: string; readonly k?: number }[];
  readonly n: number;
  readonly workers: number;
  readonly repetitions: number;
  /** Arrivals, then rounds of the barrier. */
  readonly signal: Int32Array;
}

/** The memory copy, then one mixing a topology; member w does its share. */
export function tasksOf({ memory, topologies, n, workers }: CrewData, w = 0): (() => void)[] {
  const kernel = new Kernel(memory);
  const [x, y] = [new Rows(memory, 'x'), new Rows(memory, 'y')];
  const columns = columnShare(memory.columns, w, workers);
  const whole = memory.shards.map(({ offset, strideBytes }, s) => {
    const share = Math.floor((n * strideBytes) / 4 / workers);
    const part = (name: string) => new Float32Array(memory.memories[s]!.buffer, offset[name]! + 4 * share * w, share);
    return [part('x'), part('y')] as const;
  });
  return [
    () => {
      for (const [from, to] of whole) to.set(from);
    },
    ...topologies.map((given) => {
      const mixing = buildTopology(given, n, 1).mixing(0);
      return () => kernel.mix(mixing, x, y, columns);
    }),
  ];
}

/** Threads that do every task together, in turn. */
export class Crew {
  readonly #data: CrewData;
  readonly #tasks: readonly (() => void)[];

  constructor(data: CrewData, member: number) {
    this.#data = data;
    this.#tasks = tasksOf(data, member);
  }

  /** Waits for all, awake: a sleeping thread would take longer to wake up than a small task takes. */
  #meet(): void {
    const { signal, workers } = this.#data;
    const round = Atomics.load(signal, 1);
    if (Atomics.add(signal, 0, 1) === workers - 1) {
      Atomics.store(signal, 0, 0);
      Atomics.add(signal, 1, 1);
    } else while (Atomics.load(signal, 1) === round);
  }

  work(report: (task: number, ms: number) => void = () => {}): void {
    for (let repetition = 0; repetition < this.#data.repetitions; repetition++)
      this.#tasks.forEach((task, t) => {
        this.#meet();
        const start = performance.now();
        task();
        this.#meet();
        report(t, performance.now() - start);
      });
  }
}
