import { columnShare, type Kernel, type MixForm } from '../kernel/kernel.ts';
import { Rows } from '../kernel/memory.ts';
import { type MixProgram, meanProgram } from '../kernel/program.ts';
import { type Mixing, stopsOf } from '../topology/mixing.ts';
import type { Division } from './division.ts';
import { heldRows, pairExchange } from './exchange.ts';
import type { Channel, RankGroup } from './group.ts';
import type { Meeting } from './meeting.ts';
import type { Membership } from './membership.ts';
import type { MixPlan } from './plans.ts';
import type { SharedTransport } from './shared.ts';
import type { Transport } from './transport.ts';

/** Averages over replicas, as in `Transport`. */
export type Average = Pick<Transport, 'mix' | 'mixesRows' | 'mixRow' | 'mean' | 'announce' | 'pair'>;

/** Those who hear more have their rows averaged all together, so that what is read for one is in the cache for others. */
const fewNeighbours = 4;
const fewSources = new WeakMap<Mixing, boolean>();

function hasFewSources(mixing: Mixing): boolean {
  let few = fewSources.get(mixing);
  if (few === undefined) {
    few = stopsOf(mixing).every((stop, i) => stop - mixing.start[i]! <= fewNeighbours + 1);
    fewSources.set(mixing, few);
  }
  return few;
}

export function exchange(channel: Channel): void {
  channel.start();
  channel.finish();
}

/** Threads divide the work by columns: no sum over replicas is computed twice. */
export function averageOver(
  { threads, place, memory, announced }: SharedTransport,
  thread: number,
  { first, last }: { readonly first: number; readonly last: number },
  kernel: Kernel,
  meeting: Meeting,
  membership: Membership,
  group: RankGroup | undefined,
): Average {
  const columns = columnShare(memory.columns, thread, threads);
  const meanRow = new Rows(memory, 'mean');
  const sums = new Rows(memory, 'sums');
  const heard = new Rows(memory, 'heard');
  const mixed = { rows: new Rows(memory, 'mixed'), row: thread };
  const alone = place === undefined;

  /** A matrix and all that stands behind it up to what came from others. */
  const reach = (input: Rows) => new Rows(memory, input.name, { through: 'parts' });

  /** Of one process: the mean over those who are there, if they are not all. */
  const partial = new WeakMap<Division, MixProgram>();
  function partialMean(division: Division): MixProgram {
    const program = partial.get(division) ?? meanProgram(division.present, heldRows(division, 0, [], 0, []));
    partial.set(division, program);
    return program;
  }

  /** Every rank adds up its own columns of what all contribute, and all get all columns. */
  function meanAcross(input: Rows): boolean {
    const { plans, division } = membership;
    const { contribute, mean, scatter, spread } = plans.mean(input);
    meeting.meet();
    if (contribute !== undefined) kernel.run(contribute, input, sums, columns);
    if (!meeting.across(() => exchange(scatter!))) return false;
    const [from, to] = plans.columnsOf(division.rank);
    const [begin, end] = columnShare(to - from, thread, threads);
    if (begin < end) kernel.run(mean, reach(input), meanRow, [from + begin, from + end]);
    return meeting.across(() => exchange(spread!));
  }

  function mixAcross(mixing: Mixing, input: Rows, output: Rows, form: MixForm, known: boolean): boolean {
    const plan = membership.plans.mix(membership.surviving(mixing), input, form, known);
    if (plan === 'mean') {
      if (!meanAcross(input)) return false;
      for (let i = first; i < last; i++) kernel.copy(output, i, meanRow, 0);
    } else {
      if (known) meeting.meet();
      else {
        const heard = meeting.across(() => {
          exchange(plan.channel!);
          announced?.fill(0);
        });
        if (!heard) return false;
      }
      kernel.run(plan.program, reach(input), output, columns);
    }
    meeting.meet();
    return true;
  }

  /** Starts what own replicas have announced; the first thread does it for all whenever it announces something itself. */
  function sendAhead(ready: Int32Array, channel: Channel, sendsOf: MixPlan['sendsOf']): void {
    channel.startReceives();
    for (let place = 0; place < ready.length; place++)
      if (Atomics.load(ready, place) === 1)
        for (const index of sendsOf.get(membership.division.first + place) ?? []) channel.startSend(index);
    channel.progress();
  }

  return {
    mix(mixing, input, output, form = 'sum', known = false) {
      if (!alone) {
        while (!mixAcross(mixing, input, output, form, known));
        return;
      }
      meeting.meet();
      kernel.mix(mixing, input, output, columns, form);
      meeting.meet();
    },
    mixesRows: (mixing) => alone && hasFewSources(mixing),
    mixRow(mixing, input, replica) {
      kernel.mixRow(mixing, replica, input, mixed.rows, mixed.row);
      return mixed;
    },
    mean(input) {
      if (!alone) while (!meanAcross(input));
      else {
        meeting.meet();
        const { division } = membership;
        if (division.present.length === division.replicas) kernel.mean(input, meanRow, columns);
        else kernel.run(partialMean(division), input, meanRow, columns);
        meeting.meet();
      }
      return meanRow;
    },
    pair(pairs, rows) {
      const { within, across } = pairExchange(pairs, membership.division);
      if (alone) meeting.meet();
      else
        meeting.say(() => {
          const channel = membership.plans.pair(across, rows)!;
          exchange(channel);
          channel.free();
        });
      const own = <T>(list: readonly T[], work: (one: T, place: number) => void) => {
        for (let place = thread; place < list.length; place += threads) work(list[place]!, place);
      };
      own(within, ([i, j]) => kernel.meet(rows, i, rows, j));
      own(across, ({ own }, place) => kernel.meet(rows, own, heard, place));
      meeting.meet();
    },
    announce(mixing, input, replica) {
      if (announced === undefined) return;
      const plan = membership.plans.mix(membership.surviving(mixing), input, 'sum', false);
      // Nothing goes ahead of a mean, so that nothing may be left announced for the next exchange.
      if (plan === 'mean') return;
      Atomics.store(announced, replica - membership.division.first, 1);
      if (group !== undefined) sendAhead(announced, plan.channel!, plan.sendsOf);
    },
  };
}
