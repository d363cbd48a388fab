import { columnShare, Kernel } from '../kernel/kernel.ts';
import { allocateRows, type RowMemory, Rows } from '../kernel/memory.ts';
import { blockOf, type MatrixName, matrices, type Transport } from './transport.ts';

/** What the ranks of one process share: handed to every worker thread as it is. */
export interface SharedTransport {
  readonly ranks: number;
  readonly replicas: number;
  readonly memory: RowMemory;
  /** [arrived, generation, stop] */
  readonly control: Int32Array;
  /** A place for everyone's numbers. */
  readonly board: Float64Array;
}

const [arrived, generation, stop] = [0, 1, 2];

/** Numbers a replica or rank can put on the board at once. */
const boardWidth = 64;

/** Room for `replicas` rows of `columns` parameters, and for what `ranks` threads say to each other. */
export function shareTransport(ranks: number, replicas: number, columns: number): SharedTransport {
  return {
    ranks,
    replicas,
    memory: allocateRows(columns, { current: replicas, spare: replicas, mean: 1 } satisfies Record<MatrixName, number>),
    control: new Int32Array(new SharedArrayBuffer(12)),
    board: new Float64Array(new SharedArrayBuffer(8 * Math.max(ranks, replicas) * boardWidth)),
  };
}

/** Asks the ranks to stop after the step they are in. */
export function requestStop({ control }: SharedTransport): void {
  Atomics.store(control, stop, 1);
}

/** Ranks as worker threads over shared memory. */
export function threadTransport(shared: SharedTransport, rank: number): Transport {
  const { ranks, replicas, memory, control, board } = shared;
  const { first, last } = blockOf(replicas, ranks, rank);
  const kernel = new Kernel(memory);
  const rows = Object.fromEntries(matrices.map((name) => [name, new Rows(memory, name)])) as Record<MatrixName, Rows>;
  // Threads divide the work by columns: no sum over replicas is computed twice.
  const columns = columnShare(memory.columns, rank, ranks);
  let waitMs = 0;

  function barrier(): void {
    const start = performance.now();
    meet();
    waitMs += performance.now() - start;
  }

  /** The last to arrive wakes the others. A short spin first: steps are even, so the wait is mostly shorter than a wake-up. */
  function meet(): void {
    if (ranks === 1) return;
    const round = Atomics.load(control, generation);
    if (Atomics.add(control, arrived, 1) === ranks - 1) {
      Atomics.store(control, arrived, 0);
      Atomics.add(control, generation, 1);
      Atomics.notify(control, generation);
      return;
    }
    for (let spin = 0; spin < 2000; spin++) if (Atomics.load(control, generation) !== round) return;
    while (Atomics.load(control, generation) === round) Atomics.wait(control, generation, round, 1000);
  }

  function gather(own: Float64Array, width: number): Float64Array {
    const all = new Float64Array(replicas * width);
    for (let done = 0; done < width; done += boardWidth) {
      const part = Math.min(boardWidth, width - done);
      for (let i = first; i < last; i++)
        board.set(own.subarray((i - first) * width + done, (i - first) * width + done + part), i * part);
      barrier();
      for (let i = 0; i < replicas; i++) all.set(board.subarray(i * part, (i + 1) * part), i * width + done);
      barrier();
    }
    return all;
  }

  return {
    rank,
    ranks,
    replicas,
    first,
    last,
    rows: (name) => rows[name],
    kernel,
    mix(mixing, input, output) {
      barrier();
      kernel.mix(mixing, input, output, { columns });
      barrier();
    },
    mean(input) {
      barrier();
      kernel.mean(input, rows.mean, replicas, columns);
      barrier();
      return rows.mean;
    },
    barrier,
    gather,
    reduce(values) {
      board.set(values, rank * boardWidth);
      barrier();
      const sum = values.map((_, i) => {
        let total = 0;
        for (let r = 0; r < ranks; r++) total += board[r * boardWidth + i]!;
        return total;
      });
      barrier();
      return sum;
    },
    broadcast(value) {
      if (rank === 0) board[0] = value;
      barrier();
      const said = board[0]!;
      barrier();
      return said;
    },
    stopRequested: () => Atomics.load(control, stop) === 1,
    takeWaitMs() {
      const taken = waitMs;
      waitMs = 0;
      return taken;
    },
  };
}
