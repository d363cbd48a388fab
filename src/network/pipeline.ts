import { z } from 'zod';
import { sizeSetting } from './units.ts';

/** A replica whose model is cut into stages, each on a device of its own. */
export const pipelineSchema = z.strictObject({
  stages: z.int().min(1).describe("parts that the model's layers are cut into, of equal size"),
  activations: sizeSetting('of a batch, from each stage to the next'),
  parts: z.int().min(1).optional().describe('micro-batches that a batch is cut into; 4 × stages by default'),
  groups: z
    .array(z.array(z.int().min(0)).min(1))
    .min(1)
    .optional()
    .describe(
      'the devices of each stage, the i-th of every stage being replica i; by default what dbench schedule finds',
    ),
});
export type PipelineSettings = Readonly<z.output<typeof pipelineSchema>>;

/** From a stage to the next, or back: how long a part keeps the link, and how much later it is there. */
export interface Hop {
  readonly busyNs: number;
  readonly latencyNs: number;
}

export interface Pipeline {
  /** Micro-batches. */
  readonly parts: number;
  /** By stage, for one part. */
  readonly forwardNs: readonly number[];
  readonly backwardNs: readonly number[];
  /** Between stages s and s + 1. */
  readonly hops: readonly Hop[];
  readonly returns: readonly Hop[];
}

/**
 * How long a step of a pipeline takes, all parts forward and then all back; a device computes one part at a time and a link carries one. With equal
 * stages and hops of e ≤ f it is (m + D − 1)(f + b) + 2(D − 1)e.
 */
export function pipelineNs({ parts, forwardNs, backwardNs, hops, returns }: Pipeline): number {
  const stages = forwardNs.length;
  const ready = new Float64Array(parts);
  /** One part after the other is kept for so long, and is there so much later. */
  const pass = (busyNs: number, latencyNs = 0) => {
    let free = 0;
    for (let p = 0; p < parts; p++) {
      free = Math.max(free, ready[p]!) + busyNs;
      ready[p] = free;
    }
    for (let p = 0; p < parts; p++) ready[p]! += latencyNs;
  };
  for (let s = 0; s < stages; s++) {
    pass(forwardNs[s]!);
    if (s + 1 < stages) pass(hops[s]!.busyNs, hops[s]!.latencyNs);
  }
  ready.fill(ready[parts - 1]!);
  for (let s = stages - 1; s >= 0; s--) {
    pass(backwardNs[s]!);
    if (s > 0) pass(returns[s - 1]!.busyNs, returns[s - 1]!.latencyNs);
  }
  return ready[parts - 1]!;
}
