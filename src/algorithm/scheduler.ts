import type { z } from 'zod';
import { UserError } from '../base/error.ts';
import type { ServersByClient } from '../topology/cohort.ts';

/** What a scheduler knows when it says who speaks with whom in a round. */
export interface Gathering {
  readonly round: number;
  readonly seed: number;
  readonly servers: number;
  /** The servers that each client can speak with, ascending. */
  readonly reach: ServersByClient;
  /** How long things are predicted to take; there if the run has a network. */
  readonly times?: RoundTimes | undefined;
  /** The round in which each client trained last; −1: never. */
  readonly last: readonly number[];
}

/** What a round is predicted to take, in nanoseconds. */
export interface RoundTimes {
  /** By client: all its local steps. */
  readonly computeNs: ArrayLike<number>;
  down(server: number, client: number): Trip;
  up(client: number, server: number): Trip;
}

/** A model on its way: how long it keeps the sender's port and that of the receiver, and its latency. */
export interface Trip {
  readonly leavesNs: number;
  readonly entersNs: number;
  readonly latencyNs: number;
}

/** Says which servers each client speaks with, a pure function: one file and one row in schedulers.ts. */
export interface ClientScheduler<Shape extends z.ZodRawShape = z.ZodRawShape> {
  readonly name: string;
  readonly summary: string;
  readonly settings: Shape;
  /** Goes by predicted times, so that a network must be given. */
  readonly byTime?: true;
  /** Rounds until it repeats; 1 unless said. */
  period?(reach: ServersByClient): number;
  schedule(gathering: Gathering, settings: z.output<z.ZodObject<Shape>>): ServersByClient;
}

/** Infers the settings' types from their schema. */
export function scheduler<Shape extends z.ZodRawShape>(definition: ClientScheduler<Shape>): ClientScheduler<Shape> {
  return definition;
}

/** The only server of each client, if none is chosen: clients are dealt to the servers that they reach. */
export const home = (reach: ServersByClient): readonly number[] => reach.map((own, k) => own[k % own.length]!);

/** Of the clients at home at each server, those that it chooses. */
export function chosenAtHome(
  { reach, servers }: Pick<Gathering, 'reach' | 'servers'>,
  choose: (clients: readonly number[], server: number) => readonly number[],
): ServersByClient {
  const homes = home(reach);
  const chosen = new Set(
    Array.from({ length: servers }, (_, s) =>
      choose(
        homes.flatMap((own, k) => (own === s ? [k] : [])),
        s,
      ),
    ).flat(),
  );
  if (chosen.size === 0)
    throw new UserError('scheduler: no client would train', { hint: 'choose more clients, or a later deadline' });
  return homes.map((own, k) => (chosen.has(k) ? [own] : []));
}

/** How long a client takes that a server speaks with alone: down, all local steps, up. */
export function aloneNs({ computeNs, down, up }: RoundTimes, client: number, server: number): number {
  return roundTripNs({ computeNs, down, up }, client, server) + computeNs[client]!;
}

export function roundTripNs({ down, up }: RoundTimes, client: number, server: number): number {
  const taken = ({ leavesNs, entersNs, latencyNs }: Trip) => Math.max(leavesNs, entersNs) + latencyNs;
  return taken(down(server, client)) + taken(up(client, server));
}

/** Until the last bit has passed both ports, if nothing is in its way. */
const passNs = ({ leavesNs, entersNs, latencyNs }: ReturnType<RoundTimes['up']>) =>
  Math.max(leavesNs, entersNs) + latencyNs;

/**
 * When a server has all that its clients send: it sends down one after the other, the slowest client first, and what comes up queues at its
 * port by its last bit.
 */
export function serverEndNs({ computeNs, down, up }: RoundTimes, server: number, clients: readonly number[]): number {
  let free = 0;
  const arrivals = clients
    .toSorted((a, b) => computeNs[b]! - computeNs[a]! || a - b)
    .map((client) => {
      const [there, back] = [down(server, client), up(client, server)];
      const begun = free + passNs(there);
      free += there.leavesNs;
      return { last: begun + computeNs[client]! + passNs(back), entersNs: back.entersNs };
    })
    .sort((a, b) => a.last - b.last);
  return arrivals.reduce((end, { last, entersNs }) => Math.max(last, end + entersNs), 0);
}
