import { availableParallelism } from 'node:os';
import { UserError } from '../base/error.ts';
import { quantile } from '../base/statistics.ts';
import type { Message, RankGroup } from '../transport/group.ts';
import { links, openGroup } from '../transport/links.ts';
import { shareTransport } from '../transport/shared.ts';
import { openTransport } from '../transport/threads.ts';
import type { World } from '../transport/world.ts';

/** How fast rows go between processes. A tenth of the messages is faster than these times; bytes of one direction are counted, while both are in use. */
export interface TransportFigures {
  readonly ranks: number;
  readonly transport: string;
  readonly parameters: number;
  /** One way, 4 bytes there and back. */
  readonly latencyUs: number;
  /** One call into the library that does next to nothing: the cost of leaving JavaScript. */
  readonly callNs: number;
  readonly exchanges: readonly { readonly floats: number; readonly ms: number; readonly gigabytesPerSecond: number }[];
  /** The mean over all ranks of a row each, in canonical order. */
  readonly meanMs: number;
  /** A copy of a row in memory, in the same run. */
  readonly copyMs: number;
  readonly copyGigabytesPerSecond: number;
}

const warmUps = 20;

function timesMs(repetitions: number, work: () => void): number[] {
  for (let i = 0; i < warmUps; i++) work();
  return Array.from({ length: repetitions }, () => {
    const start = performance.now();
    work();
    return performance.now() - start;
  });
}

/** Other programs only ever add to it, so the fast ones count: a tenth is faster. Ranks that only waited have measured nothing. */
const fast = (times: readonly number[]) => (times.length === 0 ? 0 : quantile(times, 0.1));

const gigabytesPerSecond = (floats: number, ms: number) => (4 * floats) / ms / 1e6;

/** Ranks 0 and 1 send each other messages, the others wait; then all make a mean. Collective. */
export async function benchTransport(world: World, parameters: number, repetitions: number): Promise<TransportFigures> {
  const { place } = world;
  if (place === undefined)
    throw new UserError('there is one process only: nothing to send', {
      hint: 'start at least two, as in: mpirun -n 2 dbench bench transport',
    });
  const group = await openGroup(place, { crowded: place.neighbours > availableParallelism() });
  const pair = (floats: number, times: number) => (group.rank < 2 ? exchange(group, floats, times) : []);
  const latency = group.rank < 2 ? pingPong(group, 20 * repetitions) : [];
  group.barrier();
  const sizes = [...new Set([Math.ceil(parameters / place.ranks), parameters])];
  const exchanges = sizes.map((floats) => {
    const ms = fast(pair(floats, repetitions));
    group.barrier();
    return { floats, ms, gigabytesPerSecond: gigabytesPerSecond(floats, ms) };
  });
  const transport = await openTransport(shareTransport(1, place.ranks, parameters, { place }), 0);
  const rows = transport.rows('current');
  rows.write(place.rank, new Float32Array(parameters).fill(place.rank));
  const meanMs = fast(timesMs(repetitions, () => transport.mean(rows)));
  const expected = (place.ranks - 1) / 2;
  const found = transport.mean(rows).views(0)[0]![0]!;
  if (Math.abs(found - expected) > 1e-3) throw new Error(`the mean of 0 to ${place.ranks - 1} came out as ${found}`);
  transport.close();
  const [from, to] = [new Float32Array(parameters).fill(1), new Float32Array(parameters)];
  const copyMs = fast(timesMs(repetitions, () => to.set(from)));
  return {
    ranks: place.ranks,
    transport: world.transport,
    parameters,
    latencyUs: (1000 * fast(latency)) / 2,
    callNs: await links[place.link.kind].callNs(place.link),
    exchanges,
    meanMs,
    copyMs,
    copyGigabytesPerSecond: gigabytesPerSecond(parameters, copyMs),
  };
}

const message = (peer: number, tag: number, floats: number): Message => ({
  peer,
  tag,
  values: new Float32Array(floats).fill(1),
});

/** As neighbours do it: a row there and a row back at the same time. */
function exchange(group: RankGroup, floats: number, repetitions: number): number[] {
  const peer = 1 - group.rank;
  const channel = group.open([message(peer, 0, floats)], [message(peer, 0, floats)]);
  const times = timesMs(repetitions, () => {
    channel.start();
    channel.finish();
  });
  channel.free();
  return times;
}

/** There and back again. */
function pingPong(group: RankGroup, repetitions: number): number[] {
  const peer = 1 - group.rank;
  const there = group.open([message(peer, 0, 1)], []);
  const back = group.open([], [message(peer, 0, 1)]);
  const go = (channel: typeof there) => {
    channel.start();
    channel.finish();
  };
  const times = timesMs(repetitions, () => {
    for (const channel of group.rank === 0 ? [there, back] : [back, there]) go(channel);
  });
  there.free();
  back.free();
  return times;
}
