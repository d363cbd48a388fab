import type { Network } from './network.ts';
import { transferNs } from './units.ts';

/**
 * The messages of one gossip, each of the same size: who sends to whom, through which ports, and how long each part of the way takes. Made once
 * for each round and size; messages of one port stand together, in the order (receiver − sender) mod n in which they leave.
 */
export interface Messages {
  readonly bytes: number;
  readonly from: Int32Array;
  readonly to: Int32Array;
  /** Of ports: where in the orders below the messages of port p begin, up to those of port p + 1. */
  readonly upStart: Int32Array;
  readonly downStart: Int32Array;
  /** Messages by port, in the order in which they were last carried: the timetable sorts them anew, a port at a time. */
  readonly upOrder: Int32Array;
  readonly downOrder: Int32Array;
  /** By message: its place by sender among those of its down port. */
  readonly downRank: Int32Array;
  /** How long the ports are busy with a message. */
  readonly upNs: Float64Array;
  readonly downNs: Float64Array;
  /** From the moment it begins to leave until its last bit is there, if nothing queues where it comes in. */
  readonly wholeNs: Float64Array;
  /** Ports that several devices send through. */
  readonly sharedUp: Uint8Array;
}

/**
 * @param sources whom each replica hears
 * @param rowBytes of what a replica sends another: in one message, or in one for each part of the model that is on a device of its own
 * @param slowness of each receiver, if the slowest is sent to first
 */
export function messagesOf(
  network: Network,
  sources: readonly (readonly number[])[],
  rowBytes: number,
  slowness?: ArrayLike<number>,
): Messages {
  const { n, upRates, downRates, sharing, overheadNs } = network;
  const list = sources.flatMap((row, to) =>
    row.flatMap((from) => network.ways(from, to).map((way) => ({ from, to, ...way }))),
  );
  const bytes = rowBytes / network.stages;
  const offset = ({ from, to }: { from: number; to: number }) => (to - from + n) % n;
  const haste = ({ to }: { to: number }) => -(slowness?.[to] ?? 0);
  list.sort((a, b) => a.up - b.up || haste(a) - haste(b) || offset(a) - offset(b) || a.from - b.from);
  const count = list.length;
  const upStart = starts(upRates.length, list, ({ up }) => up);
  const downStart = starts(downRates.length, list, ({ down }) => down);
  const downOrder = Int32Array.from(list.keys()).sort(
    (a, b) => list[a]!.down - list[b]!.down || list[a]!.from - list[b]!.from || list[a]!.to - list[b]!.to,
  );
  const flows = (start: Int32Array, port: number) => start[port + 1]! - start[port]!;
  const whole = (one: (typeof list)[number]): number => {
    if (sharing !== 'fair') {
      const alone = one.latencyNs + transferNs(bytes, Math.min(one.rate, upRates[one.up]!, downRates[one.down]!));
      return sharing === 'serial' ? overheadNs + alone : alone;
    }
    const up = transferNs(flows(upStart, one.up) * bytes, upRates[one.up]!);
    const down = transferNs(flows(downStart, one.down) * bytes, downRates[one.down]!);
    return one.latencyNs + Math.max(up, down, transferNs(bytes, one.rate));
  };
  const column = (value: (one: (typeof list)[number]) => number) => Float64Array.from(list, value);
  const sharedUp = Uint8Array.from(upRates, (_, port) =>
    list.slice(upStart[port], upStart[port + 1]).some(({ from }) => from !== list[upStart[port]!]!.from) ? 1 : 0,
  );
  return {
    bytes,
    from: Int32Array.from({ length: count }, (_, m) => list[m]!.from),
    to: Int32Array.from({ length: count }, (_, m) => list[m]!.to),
    upStart,
    downStart,
    upOrder: Int32Array.from(list.keys()),
    downOrder,
    downRank: inverse(downOrder),
    upNs: column(({ up, rate }) => overheadNs + transferNs(bytes, Math.min(upRates[up]!, rate))),
    downNs: column(({ down }) => transferNs(bytes, downRates[down]!)),
    wholeNs: column(whole),
    sharedUp,
  };
}

/** Where the messages of each port begin, if they are sorted by port. */
function starts<T>(ports: number, list: readonly T[], portOf: (one: T) => number): Int32Array {
  const start = new Int32Array(ports + 1);
  for (const one of list) start[portOf(one) + 1]! += 1;
  for (let port = 0; port < ports; port++) start[port + 1]! += start[port]!;
  return start;
}

function inverse(order: Int32Array): Int32Array {
  const rank = new Int32Array(order.length);
  order.forEach((m, place) => {
    rank[m] = place;
  });
  return rank;
}
