import type { Messages } from './messages.ts';
import type { Journeys } from './post.ts';
import type { Watcher } from './timetable.ts';

/** What a replica did or waited for, one after the other. */
export type Happening =
  | {
      readonly what: 'compute';
      readonly step: number;
      readonly replica: number;
      readonly start: number;
      readonly end: number;
    }
  | {
      readonly what: 'message';
      readonly step: number;
      readonly from: number;
      readonly to: number;
      readonly bytes: number;
      readonly ready: number;
      readonly start: number;
      readonly left: number;
      readonly end: number;
      /** The message that it had to wait for at the port it left by, and at the one it came in by, as indices of happenings. */
      readonly behindUp: number | undefined;
      readonly behindDown: number | undefined;
    }
  | {
      readonly what: 'mean';
      readonly step: number;
      readonly start: number;
      readonly end: number;
      readonly bytes: number;
    };

/** Keeps all that happens, for pictures and for the critical path. */
export class Chronicle implements Watcher {
  readonly happenings: Happening[] = [];
  #step = 0;
  /** By port: the message that it carried last. */
  readonly #lastUp = new Map<number, number>();
  readonly #lastDown = new Map<number, number>();

  step(step: number): void {
    this.#step = step;
  }

  compute(replica: number, start: number, end: number): void {
    this.happenings.push({ what: 'compute', step: this.#step, replica, start, end });
  }

  mean(start: number, end: number, bytes: number): void {
    this.happenings.push({ what: 'mean', step: this.#step, start, end, bytes });
  }

  exchange(messages: Messages, { ready, start, left, earliest, end }: Journeys): void {
    const { from, to, bytes, upOrder, downOrder, upStart, downStart } = messages;
    const first = this.happenings.length;
    const behind = (
      order: Int32Array,
      starts: Int32Array,
      last: Map<number, number>,
      waited: (m: number) => boolean,
    ) => {
      const found = new Map<number, number>();
      for (let port = 0; port + 1 < starts.length; port++)
        for (let place = starts[port]!; place < starts[port + 1]!; place++) {
          const before = last.get(port);
          if (before !== undefined && waited(order[place]!)) found.set(order[place]!, before);
          last.set(port, first + order[place]!);
        }
      return found;
    };
    const up = behind(upOrder, upStart, this.#lastUp, (m) => start[m]! > ready[from[m]!]!);
    const down = behind(downOrder, downStart, this.#lastDown, (m) => end[m]! > earliest[m]!);
    for (let m = 0; m < from.length; m++)
      this.happenings.push({
        what: 'message',
        step: this.#step,
        from: from[m]!,
        to: to[m]!,
        bytes,
        ready: ready[from[m]!]!,
        start: start[m]!,
        left: left[m]!,
        // What never came has no end of its own.
        end: Number.isFinite(end[m]) ? end[m]! : left[m]!,
        behindUp: up.get(m),
        behindDown: down.get(m),
      });
  }
}

/** A part of the way that decided when the last replica finished. */
export interface Segment {
  readonly what: Happening['what'];
  readonly step: number;
  readonly replica: number;
  /** Of a message: who hears it. */
  readonly to?: number;
  readonly start: number;
  readonly end: number;
}

/**
 * From the replica that finished last back to the start: what each thing had to wait for. A message that stood in a queue leads to
 * those before it in the queue, up to one that came at once.
 */
export function criticalPath(happenings: readonly Happening[], finished: Float64Array): Segment[] {
  const path: Segment[] = [];
  let time = finished.reduce((most, each) => Math.max(most, each), 0);
  let replica = finished.indexOf(time);
  // Causes come before effects in the list, but queues lead back by more than one place.
  for (let index = happenings.length - 1; index >= 0; index--) {
    const one = happenings[index]!;
    if (one.end !== time || one.end === startOf(one)) continue;
    const { step } = one;
    if (one.what === 'compute' && one.replica === replica) {
      path.push({ what: 'compute', step, replica, start: one.start, end: one.end });
      time = one.start;
    } else if (one.what === 'mean') {
      path.push({ what: 'mean', step, replica, start: one.start, end: one.end });
      time = one.start;
      const last = happenings.slice(0, index).find((each) => each.what === 'compute' && each.end === time);
      if (last?.what === 'compute') replica = last.replica;
    } else if (one.what === 'message' && one.to === replica) {
      const source = originOf(happenings, index);
      path.push({ what: 'message', step, replica: source.from, to: replica, start: source.ready, end: one.end });
      [time, replica] = [source.ready, source.from];
    }
    if (time === 0) break;
  }
  return path.reverse();
}

const startOf = (one: Happening) => (one.what === 'message' ? one.ready : one.start);

/** The message at the head of the queues that this one stood in: where it came in, then where that one left. */
function originOf(happenings: readonly Happening[], index: number): Message {
  const message = (at: number) => happenings[at]! as Message;
  let one = message(index);
  while (one.behindDown !== undefined) one = message(one.behindDown);
  while (one.behindUp !== undefined) one = message(one.behindUp);
  return one;
}

type Message = Extract<Happening, { what: 'message' }>;
