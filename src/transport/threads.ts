import { availableParallelism } from 'node:os';
import { Kernel } from '../kernel/kernel.ts';
import { Rows } from '../kernel/memory.ts';
import { averageOver } from './average.ts';
import { Barrier, stop } from './barrier.ts';
import { collectOver } from './collect.ts';
import type { RankGroup } from './group.ts';
import { hearingOver } from './hearing.ts';
import { openGroup } from './links.ts';
import { Meeting } from './meeting.ts';
import { Membership } from './membership.ts';
import type { SharedTransport } from './shared.ts';
import { blockOf, type Transport } from './transport.ts';

/** The transport of one thread. Collective: it returns when all threads of all ranks are there. */
export async function openTransport(shared: SharedTransport, thread: number): Promise<Transport> {
  const { place, threads } = shared;
  if (place === undefined || thread > 0) return transportOver(shared, thread, undefined);
  const crowded = place.neighbours * threads > availableParallelism();
  return transportOver(shared, thread, await openGroup(place, { crowded }));
}

const sum = (values: Float64Array) => values.reduce((total, value) => total + value, 0);

/** Threads of a process over shared memory; the first of them speaks with the other ranks. */
function transportOver(shared: SharedTransport, thread: number, group: RankGroup | undefined): Transport {
  const { threads, replicas, place, matrices, memory, control } = shared;
  const barrier = new Barrier(control, threads);
  const membership = new Membership(shared, group);
  const meeting = new Meeting(shared, barrier, membership, group);
  const { first: offset, last: end, rank, ranks } = membership.division;
  const within = blockOf(end - offset, threads, thread);
  const own = { first: offset + within.first, last: offset + within.last };
  const kernel = new Kernel(memory);
  const collect = collectOver(shared, thread, own, meeting, membership);
  const average = averageOver(shared, thread, own, kernel, meeting, membership, group);
  const hearing = hearingOver(shared, thread, meeting, membership);
  const wraps = hearing !== undefined;
  const rows = new Map(matrices.map((name) => [name, new Rows(memory, name, { first: offset, wraps })]));
  const threadsOf = collect.sumsByRank([1]);
  return {
    worker: sum(threadsOf.subarray(0, rank)) + thread,
    get workers() {
      return membership.division.members.reduce((total, each) => total + threadsOf[each]!, 0);
    },
    replicas,
    get lost() {
      return membership.lost;
    },
    get present() {
      return membership.division.present;
    },
    sendAway: (replicas) => membership.sendAway(replicas),
    ...own,
    matrices,
    rows(name) {
      const found = rows.get(name);
      if (found === undefined) throw new RangeError(`no matrix "${name}"; there are: ${matrices.join(', ')}`);
      return found;
    },
    alone: place === undefined,
    kernel,
    ...average,
    hearing,
    get sentBytes() {
      return group?.sentBytes ?? 0;
    },
    surviving: (mixing) => membership.surviving(mixing),
    barrier: () => meeting.say((all) => all.barrier()),
    gather: collect.gather,
    reduce(values) {
      const all = collect.sumsByRank(values);
      return values.map((_, i) => {
        let total = 0;
        for (let r = 0; r < ranks; r++) total += all[r * values.length + i]!;
        return total;
      });
    },
    broadcast: collect.broadcast,
    stopRequested: () => Atomics.load(control, stop) === 1,
    takeWaitMs: () => barrier.takeWaitMs(),
    close: () => membership.plans.free(),
  };
}
