import { type Mixing, stopsOf } from './mixing.ts';

/** How rows go between servers and clients: up to the servers, or down to the clients. */
export type Between = 'up' | 'down';

/**
 * Servers without data and clients with it, who are the first replicas; servers are the last. Rounds are counted from 0: after round r, clients
 * send up what they have, and those who train in round r + 1 take down what they begin it with.
 */
export interface Cohort {
  readonly clients: number;
  readonly servers: number;
  /** Rounds until who speaks with whom repeats; ∞ if it does not. */
  readonly period: number;
  /** The servers of each client in a round, from 0, ascending; none: it rests. */
  serversOf(round: number): ServersByClient;
  /** Whether a replica trains in a round. */
  trains(replica: number, round: number): boolean;
  /** How rows are mixed after a round. */
  mixing(between: Between, round: number): Mixing;
}

export type ServersByClient = readonly (readonly number[])[];

export interface CohortSettings extends Pick<Cohort, 'clients' | 'servers' | 'period' | 'serversOf'> {
  /** Clients send to the servers of the round that follows, if they have some; else to those of this one. */
  readonly carry: boolean;
  /** How far a server moves to the mean of what it is sent. */
  readonly gamma: number;
  /** Of each client: its weight in that mean. */
  readonly samples: readonly number[];
}

type Entries = readonly (readonly [source: number, weight: number])[];

/** A row for each replica; who is not among the entries keeps the rest to itself. */
function mixingOf(rows: readonly Entries[]): Mixing {
  const whole = rows.map((entries, i) => {
    const rest = 1 - entries.reduce((sum, [, weight]) => sum + weight, 0);
    // What rounding leaves of a whole is not a weight.
    return [...entries, [i, Math.abs(rest) < 1e-12 ? 0 : rest] as const].toSorted(([a], [b]) => a - b);
  });
  let count = 0;
  return {
    n: rows.length,
    start: Int32Array.from([0, ...whole.map(({ length }) => (count += length))]),
    source: Int32Array.from(whole.flat(), ([source]) => source),
    weight: Float64Array.from(whole.flat(), ([, weight]) => weight),
  };
}

export function cohortOf({ clients, servers, carry, gamma, samples, ...rest }: CohortSettings): Cohort {
  const known = new Map<string, Mixing>();
  // The same matrix for the same exchange, as what is made for it is kept with it.
  const remembered = (key: string, make: () => readonly Entries[]) => {
    const found = known.get(key) ?? mixingOf(make());
    if (known.size >= 256) known.clear();
    known.set(key, found);
    return found;
  };
  const alone = Array.from({ length: clients }, (): Entries => []);
  const idle = Array.from({ length: servers }, (): Entries => []);
  const down = (served: ServersByClient) => [
    ...served.map((own): Entries => own.map((s) => [clients + s, 1 / own.length])),
    ...idle,
  ];
  const up = (served: ServersByClient) => {
    const sent = idle.map((_, s) => served.flatMap((own, k) => (own.includes(s) ? [k] : [])));
    const share = (those: readonly number[]): Entries => {
      const total = those.reduce((sum, k) => sum + samples[k]!, 0);
      return those.map((k) => [k, (gamma * samples[k]!) / total]);
    };
    return [...alone, ...sent.map(share)];
  };
  const sentTo = (round: number): ServersByClient => {
    const [now, next] = [rest.serversOf(round), rest.serversOf(round + 1)];
    return now.map((own, k) => (own.length > 0 && carry && next[k]!.length > 0 ? next[k]! : own));
  };
  return {
    clients,
    servers,
    ...rest,
    trains: (replica, round) => replica < clients && rest.serversOf(round)[replica]!.length > 0,
    mixing(between, round) {
      const served = between === 'up' ? sentTo(round) : rest.serversOf(round + 1);
      return remembered(`${between} ${served.join(';')}`, () => (between === 'up' ? up(served) : down(served)));
    },
  };
}

/** Whom each replica hears by these weights. */
export function heardIn(mixing: Mixing): number[][] {
  const { n, start, source } = mixing;
  const stop = stopsOf(mixing);
  return Array.from({ length: n }, (_, i) => [...source.subarray(start[i], stop[i])].filter((j) => j !== i));
}

/** Every replica hears the mean of the last ones; undefined if there are none. */
export function meanOfLast(n: number, last: number): Mixing | undefined {
  if (last === 0) return undefined;
  const mean: Entries = Array.from({ length: last }, (_, s) => [n - last + s, 1 / last]);
  return mixingOf(Array.from({ length: n }, (_, i) => (i < n - last ? mean : mean.filter(([j]) => j !== i))));
}
