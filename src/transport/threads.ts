import { availableParallelism } from 'node:os';
import type { Block } from '../kernel/blocks.ts';
import { type ColumnRange, columnShare, Kernel } from '../kernel/kernel.ts';
import { allocateRows, type RowMemory, Rows } from '../kernel/memory.ts';
import { isMean, meanProgram, mixingProgram, type Program, sumProgram } from '../kernel/program.ts';
import type { Mixing } from '../topology/mixing.ts';
import { contribution, dealOf, heldRows, pieces, rowExchange } from './exchange.ts';
import type { Channel, Group, Message, Place } from './group.ts';
import { blockOf, type MatrixName, type Transport } from './transport.ts';

/** What the threads of one process share: handed to every one as it is. */
export interface SharedTransport {
  readonly threads: number;
  readonly replicas: number;
  /** The other processes, where there are any. */
  readonly place: Place | undefined;
  readonly memory: RowMemory;
  /** [arrived, generation, stop] */
  readonly control: Int32Array;
  /** A place for the numbers of all replicas, and one for those of each thread. */
  readonly board: Float64Array;
  readonly desk: Float64Array;
  /** 1 for each own replica whose row may be sent ahead; undefined where rows wait for each other. */
  readonly announced: Int32Array | undefined;
}

const [arrived, generation, stop] = [0, 1, 2];

/** Numbers a replica or thread can put down at once. */
const boardWidth = 64;

const doubles = (count: number) => new Float64Array(new SharedArrayBuffer(8 * count));

export interface ShareOptions {
  /** The other processes of the run. */
  readonly place?: Place | undefined;
  /** Whether rows are sent to other processes while the next replica computes. */
  readonly overlap?: boolean | undefined;
  /** The most that rows take in one memory. */
  readonly memoryBytes?: number;
}

/**
 * Rows of a process: its own replicas twice, sums it contributes to means, rows and sums that it hears from others, and a mean. Of
 * what others may send there are as many rows as replicas elsewhere; those that are never written take no memory.
 */
export function shareTransport(
  threads: number,
  replicas: number,
  columns: number,
  { place, overlap = false, ...options }: ShareOptions = {},
): SharedTransport {
  const deal = dealOf(replicas, place?.count ?? 1, place?.index ?? 0);
  const own = deal.last - deal.first;
  const sums = place === undefined ? 0 : contribution(deal, deal).sums.length;
  return {
    threads,
    replicas,
    place,
    memory: allocateRows(
      columns,
      { current: own, spare: own, sums, heard: replicas - own, parts: replicas - own, mean: 1 },
      options,
    ),
    control: new Int32Array(new SharedArrayBuffer(12)),
    board: doubles(replicas * boardWidth),
    desk: doubles(threads * boardWidth),
    announced: overlap && place !== undefined ? new Int32Array(new SharedArrayBuffer(4 * own)) : undefined,
  };
}

/** Asks the ranks to stop after the step they are in. */
export function requestStop({ control }: SharedTransport): void {
  Atomics.store(control, stop, 1);
}

/** The transport of one thread. Collective: it returns when all threads of all processes are there. */
export async function openTransport(shared: SharedTransport, thread: number): Promise<Transport> {
  const { place, threads } = shared;
  if (place === undefined || thread > 0) return transportOver(shared, thread, undefined);
  // Only here, so that nothing of MPI is loaded where it is not used.
  const { openGroup } = await import('./mpi/group.ts');
  const crowded = place.neighbours * threads > availableParallelism();
  return transportOver(shared, thread, await openGroup(place, { crowded }));
}

/** What is kept ready for one W and one input: the program, and in the first thread the messages. */
interface MixPlan {
  readonly program: Program;
  readonly channel: Channel | undefined;
  /** Which messages carry each replica. */
  readonly sendsOf: ReadonlyMap<number, readonly number[]>;
}

/** The same for means. */
interface MeanPlan {
  readonly contribute: Program | undefined;
  readonly mean: Program;
  /** Everyone's sums in own columns come here, and the mean of own columns goes to everyone. */
  readonly scatter: Channel | undefined;
  readonly spread: Channel | undefined;
}

/** What messages between the same two are told apart by: sums, means, and rows by replica. The standard has tags up to 32767. */
const [sumTag, meanTag] = [0, 1];
const rowTag = (replica: number, shard: number, shards: number) => 2 + ((replica * shards + shard) % 32_000);

/** Topologies that change often have a plan a round; beyond this the oldest is given up. */
const mostPlans = 64;

/** Threads of a process over shared memory; the first of them speaks with the other processes. */
function transportOver(shared: SharedTransport, thread: number, group: Group | undefined): Transport {
  const { threads, replicas, place, memory, control, board, desk, announced } = shared;
  const processes = place?.count ?? 1;
  const deal = dealOf(replicas, processes, place?.index ?? 0);
  const within = blockOf(deal.last - deal.first, threads, thread);
  const [first, last] = [deal.first + within.first, deal.first + within.last];
  const kernel = new Kernel(memory);
  const rows: Record<MatrixName, Rows> = {
    current: new Rows(memory, 'current', { first: deal.first }),
    spare: new Rows(memory, 'spare', { first: deal.first }),
    mean: new Rows(memory, 'mean'),
  };
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

  /** All threads, then what the first one does with the other processes before any goes on. */
  function meetAcross(speak: (group: Group) => void): void {
    meet();
    if (processes === 1) return;
    if (group !== undefined) {
      const start = performance.now();
      speak(group);
      waitMs += performance.now() - start;
    }
    meet();
  }

  const plans = new Map<Mixing, Map<string, MixPlan | 'mean'>>();
  const means = new Map<string, MeanPlan>();

  function planOf(mixing: Mixing, input: Rows): MixPlan | 'mean' {
    let known = plans.get(mixing);
    if (known === undefined) {
      if (plans.size >= mostPlans) forget(plans.keys().next().value!);
      plans.set(mixing, (known = new Map()));
    }
    let plan = known.get(input.name);
    if (plan === undefined) known.set(input.name, (plan = isMean(mixing) ? 'mean' : planMix(mixing, input)));
    return plan;
  }

  function forget(mixing: Mixing): void {
    for (const plan of plans.get(mixing)!.values()) if (plan !== 'mean') plan.channel?.free();
    plans.delete(mixing);
  }

  const { blocks, sums: ownSums } = contribution(deal, deal);
  /** Rows between own replicas and own sums. */
  const otherRows = (input: Rows) => (input.name === 'current' ? rows.spare.count : 0);
  const everything: ColumnRange = [0, memory.columns];

  function planMix(mixing: Mixing, input: Rows): MixPlan {
    const { sends, receives } = rowExchange(mixing, deal);
    const received = receives.map(({ replica }): Block => ({ first: replica, size: 1 }));
    const held = heldRows(deal, otherRows(input) + ownSums.length, [], 0, received);
    const program = mixingProgram(mixing, { rows: [deal.first, deal.last], held, out: 0 });
    const heard = new Rows(memory, 'heard');
    const message = (from: Rows, row: number, peer: number, replica: number) =>
      pieces(from, row, everything).map(
        (values, s): Message => ({ peer, tag: rowTag(replica, s, memory.shards.length), values }),
      );
    const channel = group?.open(
      sends.flatMap(({ replica, peer }) => message(input, replica, peer, replica)),
      receives.flatMap(({ replica, peer }, place) => message(heard, place, peer, replica)),
    );
    const sendsOf = new Map<number, number[]>();
    sends
      .flatMap(({ replica }) => memory.shards.map(() => replica))
      .forEach((replica, index) => {
        sendsOf.set(replica, [...(sendsOf.get(replica) ?? []), index]);
      });
    return { program, channel, sendsOf };
  }

  /** Starts what own replicas have announced; the first thread does it for all whenever it announces something itself. */
  function sendAhead({ channel, sendsOf }: MixPlan): void {
    channel!.startReceives();
    for (let place = 0; place < announced!.length; place++)
      if (Atomics.load(announced!, place) === 1)
        for (const index of sendsOf.get(deal.first + place) ?? []) channel!.startSend(index);
    channel!.progress();
  }

  function meanPlanOf(input: Rows): MeanPlan {
    let plan = means.get(input.name);
    if (plan === undefined) means.set(input.name, (plan = planMean(input)));
    return plan;
  }

  function planMean(input: Rows): MeanPlan {
    const others = Array.from({ length: processes }, (_, p) => p).filter((p) => p !== deal.index);
    const received = others.flatMap((peer) =>
      contribution(deal, blockOf(replicas, processes, peer)).blocks.map((block) => ({ peer, block })),
    );
    const held = heldRows(
      deal,
      otherRows(input),
      ownSums,
      replicas - (deal.last - deal.first),
      received.map(({ block }) => block),
    );
    const [sums, parts] = [new Rows(memory, 'sums'), new Rows(memory, 'parts')];
    const share = (process: number) => columnShare(memory.columns, process, processes);
    const message = (tag: number, from: Rows, row: number, peer: number, columns: ColumnRange) =>
      pieces(from, row, columns).map((values): Message => ({ peer, tag, values }));
    const contributed = (block: Block, peer: number) => {
      const [from, row] = block.size === 1 ? [input, block.first] : [sums, ownSums.indexOf(block)];
      return message(sumTag, from, row, peer, share(peer));
    };
    return {
      contribute: ownSums.length === 0 ? undefined : sumProgram(ownSums, heldRows(deal, 0, [], 0, [])),
      mean: meanProgram(replicas, held),
      scatter: group?.open(
        others.flatMap((peer) => blocks.flatMap((block) => contributed(block, peer))),
        received.flatMap(({ peer }, row) => message(sumTag, parts, row, peer, share(deal.index))),
      ),
      spread: group?.open(
        others.flatMap((peer) => message(meanTag, rows.mean, 0, peer, share(deal.index))),
        others.flatMap((peer) => message(meanTag, rows.mean, 0, peer, share(peer))),
      ),
    };
  }

  /** A matrix and all that stands behind it up to what came from others. */
  const reach = (input: Rows) => new Rows(memory, input.name, { through: 'parts' });

  function exchange(channel: Channel): void {
    channel.start();
    channel.finish();
  }

  /** Every process adds up its own columns of what all contribute, and all get all columns. */
  function meanAcross(input: Rows): void {
    const { contribute, mean, scatter, spread } = meanPlanOf(input);
    meet();
    if (contribute !== undefined) kernel.run(contribute, input, new Rows(memory, 'sums'), columns);
    meetAcross(() => exchange(scatter!));
    const [from, to] = columnShare(memory.columns, deal.index, processes);
    const [begin, end] = columnShare(to - from, thread, threads);
    if (begin < end) kernel.run(mean, reach(input), rows.mean, [from + begin, from + end]);
    meetAcross(() => exchange(spread!));
  }

  function meanOf(input: Rows): Rows {
    if (processes > 1) meanAcross(input);
    else {
      meet();
      kernel.mean(input, rows.mean, replicas, columns);
      meet();
    }
    return rows.mean;
  }

  function mixAcross(mixing: Mixing, input: Rows, output: Rows): void {
    const plan = planOf(mixing, input);
    if (plan === 'mean') {
      meanAcross(input);
      for (let i = first; i < last; i++) kernel.copy(output, i, rows.mean, 0);
    } else {
      meetAcross(() => {
        exchange(plan.channel!);
        announced?.fill(0);
      });
      kernel.run(plan.program, reach(input), output, columns);
    }
    meet();
  }

  function gather(own: Float64Array, width: number): Float64Array {
    const all = new Float64Array(replicas * width);
    for (let done = 0; done < width; done += boardWidth) {
      const part = Math.min(boardWidth, width - done);
      for (let i = first; i < last; i++)
        board.set(own.subarray((i - first) * width + done, (i - first) * width + done + part), i * part);
      meetAcross((group) =>
        group.gather(
          board.subarray(0, replicas * part),
          sizes.map((size) => size * part),
        ),
      );
      for (let i = 0; i < replicas; i++) all.set(board.subarray(i * part, (i + 1) * part), i * width + done);
      meet();
    }
    return all;
  }

  const sizes = Array.from({ length: processes }, (_, p) => {
    const block = blockOf(replicas, processes, p);
    return block.last - block.first;
  });

  /** Sums over the threads of each process, process by process. */
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
    meetAcross((group) =>
      group.gather(
        board.subarray(0, processes * width),
        sizes.map(() => width),
      ),
    );
    const all = board.slice(0, processes * width);
    meet();
    return all;
  }

  const counts = reduceByProcess([1]);
  const sum = (values: Float64Array) => values.reduce((total, value) => total + value, 0);
  const rank = sum(counts.subarray(0, deal.index)) + thread;

  return {
    rank,
    ranks: sum(counts),
    replicas,
    first,
    last,
    rows: (name) => rows[name],
    kernel,
    mix(mixing, input, output) {
      if (processes > 1) return mixAcross(mixing, input, output);
      meet();
      kernel.mix(mixing, input, output, { columns });
      meet();
    },
    announce(mixing, input, replica) {
      if (announced === undefined) return;
      Atomics.store(announced, replica - deal.first, 1);
      if (group === undefined) return;
      const plan = planOf(mixing, input);
      if (plan !== 'mean') sendAhead(plan);
    },
    mean: meanOf,
    barrier: () => meetAcross((group) => group.barrier()),
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
      meetAcross((group) => group.broadcast(board.subarray(0, 1)));
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
    close() {
      for (const mixing of [...plans.keys()]) forget(mixing);
      for (const { scatter, spread } of means.values()) {
        scatter?.free();
        spread?.free();
      }
    },
  };
}
