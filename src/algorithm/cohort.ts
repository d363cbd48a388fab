import { UserError } from '../base/error.ts';
import { type Cohort, cohortOf, type ServersByClient } from '../topology/cohort.ts';
import type { AlgorithmSettings } from './choose.ts';
import { factsOf } from './facts.ts';
import type { RoundTimes } from './scheduler.ts';
import { type SchedulerSettings, schedulerOf } from './schedulers.ts';

/** The settings of a method with servers. */
interface ServerSettings {
  readonly servers: number;
  readonly scheduler: SchedulerSettings;
  readonly carry: boolean;
  readonly gamma: number;
  readonly localSteps: number;
  readonly reach?: number | ServersByClient;
}

export const serverSettings = (algorithm: AlgorithmSettings): ServerSettings | undefined =>
  factsOf(algorithm).servers > 0 ? (algorithm as unknown as ServerSettings) : undefined;

/** What is wrong with the servers of a run, a sentence each. */
export function problemsOfServers(
  algorithm: AlgorithmSettings,
  { replicas, timed, faulty }: { readonly replicas: number; readonly timed: boolean; readonly faulty: boolean },
): string[] {
  const given = serverSettings(algorithm);
  if (given === undefined) return [];
  const { servers, scheduler, reach } = given;
  const clients = replicas - servers;
  if (clients < 1)
    return [
      `algorithm.servers: ${servers} of ${replicas} replicas cannot be servers, as somebody must train; use at most ${replicas - 1}`,
    ];
  const problems = faulty ? ['faults: are not for servers and clients, whose scheduler says who takes part'] : [];
  if (schedulerOf(scheduler).byTime && !timed)
    problems.push(
      `algorithm.scheduler: ${scheduler.kind} goes by predicted times, so it needs network and devices; give them, as in network: lan and devices: { compute: 20ms }`,
    );
  if (typeof reach === 'number' && reach > servers)
    problems.push(`algorithm.reach: there are ${servers} servers, so that a client cannot reach ${reach}`);
  if (typeof reach !== 'object') return problems;
  if (reach.length !== clients)
    problems.push(`algorithm.reach: has ${reach.length} lists, but there are ${clients} clients; give one for each`);
  const strange = reach.findIndex((own) => own.some((s) => s >= servers));
  if (strange >= 0)
    problems.push(
      `algorithm.reach[${strange}]: there is no server ${reach[strange]!.find((s) => s >= servers)}; there are ${servers}, from 0 to ${servers - 1}`,
    );
  const lonely = Array.from({ length: servers }, (_, s) => s).find((s) => !reach.some((own) => own.includes(s)));
  if (lonely !== undefined)
    problems.push(`algorithm.reach: no client reaches server ${lonely}; name it in a list, or use fewer servers`);
  return problems;
}

function reachOf({ reach, servers }: ServerSettings, clients: number): ServersByClient {
  const ascending = (own: readonly number[]) => [...new Set(own)].sort((a, b) => a - b);
  if (typeof reach === 'object') return reach.map(ascending);
  const count = reach ?? servers;
  return Array.from({ length: clients }, (_, k) =>
    ascending(Array.from({ length: count }, (_, more) => (k + more) % servers)),
  );
}

/** What a cohort's exchanges depend on besides the settings of its method. */
export interface CohortGiven {
  readonly seed: number;
  /** Of each client; one each unless known. */
  readonly samples?: readonly number[] | undefined;
  /** Must be there for schedulers that go by time. */
  readonly times?: RoundTimes | undefined;
}

/** The servers and clients of a run; undefined if its method has none. */
export function cohortFor(
  algorithm: AlgorithmSettings,
  replicas: number,
  { seed, samples, times }: CohortGiven,
): Cohort | undefined {
  const given = serverSettings(algorithm);
  if (given === undefined) return undefined;
  const { servers, scheduler, carry, gamma } = given;
  const clients = replicas - servers;
  const reach = reachOf(given, clients);
  const { kind: _, ...settings } = scheduler;
  const { schedule, period = () => 1, byTime } = schedulerOf(scheduler);
  if (byTime && times === undefined)
    throw new UserError(`the scheduler ${scheduler.kind} goes by predicted times, and the run has no network`);
  // Who trained last follows from all rounds before, so they are made one after the other, each once.
  const rounds: ServersByClient[] = [];
  const last = new Array<number>(clients).fill(-1);
  const serversOf = (round: number): ServersByClient => {
    while (rounds.length <= round) {
      const next = schedule({ round: rounds.length, seed, servers, reach, times, last }, settings as never);
      next.forEach((own, k) => {
        if (own.length > 0) last[k] = rounds.length;
      });
      rounds.push(next);
    }
    return rounds[round]!;
  };
  return cohortOf({
    clients,
    servers,
    carry,
    gamma,
    samples: samples ?? new Array<number>(clients).fill(1),
    period: period(reach),
    serversOf,
  });
}
