import type { Between } from '../topology/cohort.ts';

/**
 * What a step does, as far as its time goes: which rows are computed, sent and received from which others. Rows have numbers; a row that was
 * received is there when the last message is, and what is computed from it comes after. So what may overlap follows from the data alone.
 */
export type Work =
  /** A gradient, which the device is busy with. */
  | { readonly do: 'compute'; readonly from: readonly number[]; readonly into: number }
  /** Takes no time of its own. */
  | { readonly do: 'local'; readonly from: readonly number[]; readonly into: number }
  /** One message to each who hears the replica: all these rows, averaged into others; between servers and clients, if said. */
  | {
      readonly do: 'gossip';
      readonly bytes: number;
      readonly rows: readonly (readonly [from: number, into: number])[];
      readonly between?: Between;
    }
  /** One message to each who hears the replica, which they keep; nobody waits for it. */
  | { readonly do: 'tell'; readonly bytes: number; readonly from: number; readonly into: number }
  /** The average of what was told. */
  | { readonly do: 'recall'; readonly from: number; readonly into: number }
  /**
   * The exact mean over all replicas; `gradient`: of what was just computed, so that its parts may follow the backward pass; `numbers`: of a few numbers,
   * summed by recursive doubling.
   */
  | {
      readonly do: 'mean';
      readonly bytes: number;
      readonly from: number;
      readonly into: number;
      readonly gradient: boolean;
      readonly numbers?: boolean;
    };

export interface Pattern {
  readonly rows: number;
  readonly work: readonly Work[];
  /** Rows that must be there for the step to be finished. */
  readonly kept: readonly number[];
  /** The bytes of one more gossip of the parameters, as consensus control asks for. */
  readonly rowBytes: number;
}

/** Compute, then average with the neighbours: plain gossip. */
export function gossipPattern(bytes: number, order: 'adapt' | 'combine' | 'overlap' = 'adapt'): Pattern {
  const gossip: Work = { do: 'gossip', bytes, rows: [[0, 0]] };
  const work: Readonly<Record<typeof order, readonly Work[]>> = {
    adapt: [{ do: 'compute', from: [0], into: 0 }, gossip],
    combine: [gossip, { do: 'compute', from: [0], into: 0 }],
    overlap: [{ do: 'compute', from: [0], into: 1 }, gossip, { do: 'local', from: [0, 1], into: 0 }],
  };
  return { rows: 2, work: work[order], kept: [0], rowBytes: bytes };
}

/** Compute, then the exact mean of the gradients. */
export const allReducePattern = (bytes: number): Pattern => ({
  rows: 2,
  work: [
    { do: 'compute', from: [0], into: 1 },
    { do: 'mean', bytes, from: 1, into: 1, gradient: true },
    { do: 'local', from: [0, 1], into: 0 },
  ],
  kept: [0],
  rowBytes: bytes,
});
