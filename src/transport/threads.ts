import { availableParallelism } from 'node:os';
import { columnShare, Kernel } from '../kernel/kernel.ts';
import { Rows } from '../kernel/memory.ts';
import { type Mixing, without } from '../topology/mixing.ts';
import { dealOf } from './exchange.ts';
import type { Channel, Group } from './group.ts';
import { type MixPlan, plansFor } from './plans.ts';
import { again, arrived, boardWidth, generation, type SharedTransport, stop } from './shared.ts';
import { blockOf, type LostBlock, type Transport } from './transport.ts';

/** The transport of one thread. Collective: it returns when all threads of all processes are there. */
export async function openTransport(shared: SharedTransport, thread: number): Promise<Transport> {
  const { place, threads } = shared;
  if (place === undefined || thread > 0) return transportOver(shared, thread, undefined);
  // Only here, so that nothing of MPI is loaded where it is not used.
  const { openGroup } = await import('./mpi/group.ts');
  const crowded = place.neighbours * threads > availableParallelism();
  return transportOver(shared, thread, await openGroup(place, { crowded }));
}

/** Threads of a process over shared memory; the first of them speaks with the other processes. */
function transportOver(shared: SharedTransport, thread: number, group: Group | undefined): Transport {
  const { threads, replicas, place, memory, control, gone, board, desk, announced } = shared;
  const processes = place?.count ?? 1;
  let deal = dealOf(replicas, processes, place?.index ?? 0);
  let plans = plansFor(memory, deal, group);
  const within = blockOf(deal.last - deal.first, threads, thread);
  const [first, last] = [deal.first + within.first, deal.first + within.last];
  const kernel = new Kernel(memory);
  const rows = new Map(shared.matrices.map((name) => [name, new Rows(memory, name, { first: deal.first })]));
  const meanRow = new Rows(memory, 'mean');
  // Threads divide the work by columns: no sum over replicas is computed twice.
  const columns = columnShare(memory.columns, thread, threads);
  let waitMs = 0;

  /** All threads of this process. */
  function meet(): void {
    const start = performance.now();
    assemble();
    waitMs += performance.now() - start;
  }

  /** The last to arrive wakes the others. A short spin first: steps are even, so the wait is mostly shorter than a wake-up. */
  function assemble(): void {
    if (threads === 1) return;
    const round = Atomics.load(control, generation);
    if (Atomics.add(control, arrived, 1) === threads - 1) {
      Atomics.store(control, arrived, 0);
      Atomics.add(control, generation, 1);
      Atomics.notify(control, generation);
      return;
    }
    for (let spin = 0; spin < 2000; spin++) if (Atomics.load(control, generation) !== round) return;
    while (Atomics.load(control, generation) === round) Atomics.wait(control, generation, round, 1000);
  }

  /**
   * All threads, then what the first one does with the other processes before any goes on. False where a process was lost
   * meanwhile: it is left out from here on, and what was said must be said again.
   */
  function meetAcross(speak: (group: Group) => void): boolean {
    meet();
    if (processes === 1) return true;
    if (group !== undefined) {
      const start = performance.now();
      const done = group.together(() => speak(group));
      for (const process of group.lost) gone[process] = 1;
      control[again] = done ? 0 : 1;
      waitMs += performance.now() - start;
    }
    meet();
    if (control[again] === 0) return true;
    leaveOut();
    return false;
  }

  /** Says it until all who are there have heard it. */
  function sayAcross(speak: (group: Group) => void): void {
    while (!meetAcross(speak));
  }

  let lost: readonly LostBlock[] = [];
  let survivors = new WeakMap<Mixing, Mixing>();

  function leaveOut(): void {
    plans.free();
    const processesLost = Array.from(gone.keys()).filter((p) => gone[p] === 1);
    deal = dealOf(replicas, processes, deal.index, processesLost);
    plans = plansFor(memory, deal, group);
    const replicasOf = (process: number) => Array.from(deal.owner.keys()).filter((i) => deal.owner[i] === process);
    lost = processesLost.map((process) => ({ process, replicas: replicasOf(process) }));
    survivors = new WeakMap();
  }

  function surviving(mixing: Mixing): Mixing {
    if (lost.length === 0) return mixing;
    let rest = survivors.get(mixing);
    if (rest === undefined) {
      rest = without(
        mixing,
        lost.flatMap(({ replicas }) => replicas),
      );
      survivors.set(mixing, rest);
    }
    return rest;
  }

  /** Starts what own replicas have announced; the first thread does it for all whenever it announces something itself. */
  function sendAhead({ channel, sendsOf }: MixPlan): void {
    channel!.startReceives();
    for (let place = 0; place < announced!.length; place++)
      if (Atomics.load(announced!, place) === 1)
        for (const index of sendsOf.get(deal.first + place) ?? []) channel!.startSend(index);
    channel!.progress();
  }

  /** A matrix and all that stands behind it up to what came from others. */
  const reach = (input: Rows) => new Rows(memory, input.name, { through: 'parts' });

  function exchange(channel: Channel): void {
    channel.start();
    channel.finish();
  }

  /** Every process adds up its own columns of what all contribute, and all get all columns. */
  function meanAcross(input: Rows): boolean {
    const { contribute, mean, scatter, spread } = plans.mean(input);
    meet();
    if (contribute !== undefined) kernel.run(contribute, input, new Rows(memory, 'sums'), columns);
    if (!meetAcross(() => exchange(scatter!))) return false;
    const [from, to] = plans.columnsOf(deal.index);
    const [begin, end] = columnShare(to - from, thread, threads);
    if (begin < end) kernel.run(mean, reach(input), meanRow, [from + begin, from + end]);
    return meetAcross(() => exchange(spread!));
  }

  function meanOf(input: Rows): Rows {
    if (processes > 1) while (!meanAcross(input));
    else {
      meet();
      kernel.mean(input, meanRow, columns);
      meet();
    }
    return meanRow;
  }

  function mixAcross(mixing: Mixing, input: Rows, output: Rows): boolean {
    const plan = plans.mix(surviving(mixing), input);
    if (plan === 'mean') {
      if (!meanAcross(input)) return false;
      for (let i = first; i < last; i++) kernel.copy(output, i, meanRow, 0);
    } else {
      const heard = meetAcross(() => {
        exchange(plan.channel!);
        announced?.fill(0);
      });
      if (!heard) return false;
      kernel.run(plan.program, reach(input), output, columns);
    }
    meet();
    return true;
  }

  function gather(own: Float64Array, width: number): Float64Array {
    const all = new Float64Array(replicas * width);
    for (let done = 0; done < width; done += boardWidth) {
      const part = Math.min(boardWidth, width - done);
      for (let i = first; i < last; i++)
        board.set(own.subarray((i - first) * width + done, (i - first) * width + done + part), i * part);
      sayAcross((group) =>
        group.gather(
          board.subarray(0, replicas * part),
          sizes.map((size) => size * part),
        ),
      );
      for (let i = 0; i < replicas; i++) all.set(board.subarray(i * part, (i + 1) * part), i * width + done);
      meet();
    }
    for (const { replicas } of lost) for (const i of replicas) all.fill(Number.NaN, i * width, (i + 1) * width);
    return all;
  }

  const sizes = Array.from({ length: processes }, (_, p) => {
    const block = blockOf(replicas, processes, p);
    return block.last - block.first;
  });

  /** Sums over the threads of each process, process by process; 0 for those that are lost. */
  function reduceByProcess(values: readonly number[]): Float64Array {
    const width = values.length;
    desk.set(values, thread * boardWidth);
    meet();
    if (thread === 0)
      for (let i = 0; i < width; i++) {
        let sum = 0;
        for (let t = 0; t < threads; t++) sum += desk[t * boardWidth + i]!;
        board[deal.index * width + i] = sum;
      }
    sayAcross((group) =>
      group.gather(
        board.subarray(0, processes * width),
        sizes.map(() => width),
      ),
    );
    const all = board.slice(0, processes * width);
    for (const { process } of lost) all.fill(0, process * width, (process + 1) * width);
    meet();
    return all;
  }

  const counts = reduceByProcess([1]);
  const sum = (values: Float64Array) => values.reduce((total, value) => total + value, 0);
  const rank = sum(counts.subarray(0, deal.index)) + thread;

  return {
    rank,
    get ranks() {
      return deal.members.reduce((total, process) => total + counts[process]!, 0);
    },
    replicas,
    get lost() {
      return lost;
    },
    get present() {
      return deal.present;
    },
    first,
    last,
    rows: (name) => rows.get(name)!,
    kernel,
    mix(mixing, input, output) {
      if (processes > 1) {
        while (!mixAcross(mixing, input, output));
        return;
      }
      meet();
      kernel.mix(mixing, input, output, columns);
      meet();
    },
    surviving,
    announce(mixing, input, replica) {
      if (announced === undefined) return;
      Atomics.store(announced, replica - deal.first, 1);
      if (group === undefined) return;
      const plan = plans.mix(surviving(mixing), input);
      if (plan !== 'mean') sendAhead(plan);
    },
    mean: meanOf,
    barrier: () => sayAcross((group) => group.barrier()),
    gather,
    reduce(values) {
      const all = reduceByProcess(values);
      return values.map((_, i) => {
        let total = 0;
        for (let p = 0; p < processes; p++) total += all[p * values.length + i]!;
        return total;
      });
    },
    broadcast(value) {
      if (rank === 0) board[0] = value;
      sayAcross((group) => group.broadcast(board.subarray(0, 1)));
      const said = board[0]!;
      meet();
      return said;
    },
    stopRequested: () => Atomics.load(control, stop) === 1,
    takeWaitMs() {
      const taken = waitMs;
      waitMs = 0;
      return taken;
    },
    close: () => plans.free(),
  };
}
