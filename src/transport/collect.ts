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

/** Through two places in shared memory: one for the numbers of all replicas, one for those of each thread. */
export function collectOver(
  { threads, replicas, place, ofReplicas, ofThreads }: SharedTransport,
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

  function gather(own: Float64Array, width: number): Float64Array {
    const all = new Float64Array(replicas * width);
    for (let done = 0; done < width; done += numbersAtOnce) {
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
      meeting.meet();
    }
    for (const { replicas: lost } of membership.lost)
      for (const i of lost) all.fill(Number.NaN, i * width, (i + 1) * width);
    return all;
  }

  function sumsByRank(values: readonly number[]): Float64Array {
    const width = values.length;
    ofThreads.set(values, thread * numbersAtOnce);
    meeting.meet();
    if (thread === 0)
      for (let i = 0; i < width; i++) {
        let sum = 0;
        for (let t = 0; t < threads; t++) sum += ofThreads[t * numbersAtOnce + i]!;
        ofReplicas[rank * width + i] = sum;
      }
    meeting.say((group) =>
      group.gather(
        ofReplicas.subarray(0, ranks * width),
        sizes.map(() => width),
      ),
    );
    const all = ofReplicas.slice(0, ranks * width);
    for (const { rank: lost } of membership.lost) all.fill(0, lost * width, (lost + 1) * width);
    meeting.meet();
    return all;
  }

  function broadcast(value: number): number {
    if (rank === 0 && thread === 0) ofReplicas[0] = value;
    meeting.say((group) => group.broadcast(ofReplicas.subarray(0, 1)));
    const said = ofReplicas[0]!;
    meeting.meet();
    return said;
  }

  return { gather, sumsByRank, broadcast };
}
