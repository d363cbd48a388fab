import { readsOf, type StepActions } from './actions.ts';
import type { Plan } from './method.ts';
import { meanTraffic } from './traffic.ts';

/** What a replica sends in a step, on average over the replicas. */
export interface Traffic {
  readonly bytes: number;
  readonly messages: number;
}

export interface Sizes {
  /** Replicas that take part, and how many others hear a replica on average. */
  readonly replicas: number;
  readonly degree: number;
  readonly columns: number;
  /** Of a compressed row. */
  readonly compressedBytes: number;
}

const floatBytes = 4;

/**
 * Follows from the actions: rows that are mixed one after the other go in one message, until something is computed from what was received; a
 * memory that is mixed has been sent before; an exact mean is a ring all-reduce.
 */
export function trafficOf(
  plan: Plan,
  { actions }: StepActions,
  { replicas, degree, columns, compressedBytes }: Sizes,
): Traffic {
  let [bytes, messages] = [0, 0];
  const received = new Set<string>();
  for (const action of actions) {
    if (readsOf(action).some((name) => received.has(name))) received.clear();
    if (action.do === 'mix' && !plan.memories.has(action.from)) {
      bytes += degree * (action.sort === 'row' ? columns : 1) * floatBytes;
      if (received.size === 0) messages += degree;
      received.add(action.into);
    }
    if (action.do === 'send') {
      bytes += degree * compressedBytes;
      messages += degree;
    }
    if (action.do === 'mean' || action.do === 'updateTogether') {
      const mean = meanTraffic(replicas, columns);
      bytes += mean.bytes;
      messages += mean.messages;
    }
  }
  return { bytes, messages };
}
