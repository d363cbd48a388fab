import type { Meeting } from './meeting.ts';
import type { Membership } from './membership.ts';
import { numbersAtOnce, type SharedTransport } from './shared.ts';
import { blockOf } from './transport.ts';

/** Numbers that all ranks bring together. Collective. */
export interface Collect {
  /** As in `Transport`. */
  gather(own: Float64Array, width: number): Float64Array;
  /** Sums over the threads of each rank, rank by rank; 0 for those that are lost. */
  sumsByRank(values: readonly number[]): Float64Array;
  /** What the first thread of rank 0 says. */
  broadcast(value: number): number;
}

/**
 * Through places in shared memory, for the numbers of all replicas and for those of each thread. There are two of each: before one is written
 * again all have met over the other, and so have read it, without a meeting of its own for that.
 */
export function collectOver(
  { threads, replicas, place, ...shared }: SharedTransport,
  thread: number,
  { first, last }: { readonly first: number; readonly last: number },
  meeting: Meeting,
  membership: Membership,
): Collect {
  const [ranks, rank] = [place?.ranks ?? 1, place?.rank ?? 0];
  const sizes = Array.from({ length: ranks }, (_, r) => {
    const block = blockOf(replicas, ranks, r);
    return block.last - block.first;
  });

  let turn = 0;
  function takeTurn(): { readonly ofReplicas: Float64Array; readonly ofThreads: Float64Array } {
    turn = 1 - turn;
    return { ofReplicas: shared.ofReplicas[turn]!, ofThreads: shared.ofThreads[turn]! };
  }

  function gather(own: Float64Array, width: number): Float64Array {
    const all = new Float64Array(replicas * width);
    for (let done = 0; done < width; done += numbersAtOnce) {
      const { ofReplicas } = takeTurn();
      const part = Math.min(numbersAtOnce, width - done);
      for (let i = first; i < last; i++)
        ofReplicas.set(own.subarray((i - first) * width + done, (i - first) * width + done + part), i * part);
      meeting.say((group) =>
        group.gather(
          ofReplicas.subarray(0, replicas * part),
          sizes.map((size) => size * part),
        ),
      );
      for (let i = 0; i < replicas; i++) all.set(ofReplicas.subarray(i * part, (i + 1) * part), i * width + done);
    }
    for (const { replicas: lost } of membership.lost)
      for (const i of lost) all.fill(Number.NaN, i * width, (i + 1) * width);
    return all;
  }

  function sumsByRank(values: readonly number[]): Float64Array {
    const { ofReplicas, ofThreads } = takeTurn();
    const width = values.length;
    ofThreads.set(values, thread * numbersAtOnce);
    meeting.meet();
    const sums = Float64Array.from(values, (_, i) => {
      let sum = 0;
      for (let t = 0; t < threads; t++) sum += ofThreads[t * numbersAtOnce + i]!;
      return sum;
    });
    if (place === undefined) return sums;
    if (thread === 0) ofReplicas.set(sums, rank * width);
    meeting.say((group) =>
      group.gather(
        ofReplicas.subarray(0, ranks * width),
        sizes.map(() => width),
      ),
    );
    const all = ofReplicas.slice(0, ranks * width);
    for (const { rank: lost } of membership.lost) all.fill(0, lost * width, (lost + 1) * width);
    return all;
  }

  function broadcast(value: number): number {
    const { ofReplicas } = takeTurn();
    if (rank === 0 && thread === 0) ofReplicas[0] = value;
    meeting.say((group) => group.broadcast(ofReplicas.subarray(0, 1)));
    return ofReplicas[0]!;
  }

  return { gather, sumsByRank, broadcast };
}
