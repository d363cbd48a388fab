import type { Network } from '../network.ts';
import type { Reception } from '../post.ts';
import type { Troubles } from '../timetable.ts';
import { nanoseconds, transferNs } from '../units.ts';
import { type Losses, lossesOf, type Sources } from './loss.ts';
import { type Attendance, Presence, type PresenceClock } from './presence.ts';
import type { FaultSettings } from './settings.ts';

const everybody: Attendance = { absent: [], left: [], returned: [], silent: new Map() };
const none: ReadonlyMap<number, number> = new Map();

/** How replicas wait, and when what is lost is sent again. */
export function receptionOf({ wait, loss }: FaultSettings): Reception {
  return {
    wait: wait.kind === 'timeout' ? { kind: 'timeout', ns: Math.round(nanoseconds(wait.time)) } : wait,
    againNs: loss?.kind === 'retransmit' ? Math.round(nanoseconds(loss.after)) : Number.POSITIVE_INFINITY,
  };
}

/** What goes wrong in a run, step by step: a pure function of its settings, the same on every worker. */
export class Faults {
  attendance: Attendance = everybody;
  readonly #n: number;
  readonly #losses: Losses | undefined;
  readonly #again: boolean;
  readonly #presence: Presence | undefined;
  /** Of the last lists of absent ones: who still sends to whom. */
  #sent = new WeakMap<readonly number[], WeakMap<Sources, Sources>>();
  #lost: { readonly gossip: number; readonly sources: Sources; readonly lost: ReadonlyMap<number, number> } | undefined;

  constructor({ loss, churn }: FaultSettings, place: { readonly n: number; readonly seed: number }) {
    this.#n = place.n;
    this.#again = loss?.kind === 'retransmit';
    this.#losses = loss && lossesOf(loss, place.seed);
    this.#presence = churn && new Presence(churn, place);
  }

  /** Those who were away in the last step, which is all that outlasts one. */
  get out(): readonly number[] {
    return this.attendance.absent;
  }

  set out(replicas: readonly number[]) {
    this.attendance = { ...everybody, absent: replicas };
    this.#presence?.out.fill(0);
    for (const i of replicas) this.#presence!.out[i] = 1;
  }

  /** Before step t. @param sources whom each replica hears in its first gossip */
  begin(t: number, sources: Sources, clock: PresenceClock | undefined): Attendance {
    if (this.#presence !== undefined) this.attendance = this.#presence.begin(t, sources, clock);
    return this.attendance;
  }

  /** Of a round, who sends to whom. */
  sent(sources: Sources): Sources {
    const { absent } = this.attendance;
    if (absent.length === 0) return sources;
    const known = this.#sent.get(absent) ?? new WeakMap<Sources, Sources>();
    this.#sent.set(absent, known);
    const out = new Set(absent);
    const there = known.get(sources) ?? sources.map((row, i) => (out.has(i) ? [] : row.filter((j) => !out.has(j))));
    known.set(sources, there);
    return there;
  }

  /** How often the messages of a gossip are lost, by sender · n + receiver; of those whose loss is not listed, never. */
  lost(gossip: number, sources: Sources): ReadonlyMap<number, number> {
    if (this.#losses === undefined) return none;
    if (this.#lost?.gossip === gossip && this.#lost.sources === sources) return this.#lost.lost;
    const lost = new Map<number, number>();
    for (const [i, row] of this.#losses(gossip, sources).entries())
      for (const [place, times] of row.entries())
        if (times > 0) lost.set(sources[i]![place]! * this.#n + i, this.#again ? times : 1);
    this.#lost = { gossip, sources, lost };
    return lost;
  }

  /** For the timetable of the step that began last. @param round of a gossip of the step: its number and whom replicas hear */
  troubles(round: (gossip: number) => { readonly gossip: number; readonly sources: Sources }): Troubles {
    const { absent, silent } = this.attendance;
    const given = new Map<number, number>();
    if (silent.size > 0)
      for (const [i, row] of round(0).sources.entries())
        for (const j of absent.includes(i) ? [] : row)
          if (silent.has(j)) given.set(i, Math.max(given.get(i) ?? 0, silent.get(j)!));
    return {
      absent,
      given,
      lost: (more) => {
        const { gossip, sources } = round(more);
        return this.lost(gossip, sources);
      },
    };
  }
}

/** How long it takes a replica to hear so many bytes from each of these: α + k·M/D, of a pipeline in its slowest stage. */
export function downloadNs(network: Network, replica: number, from: readonly number[], bytes: number): number {
  const { stages, downRates } = network;
  const ways = from.map((j) => network.ways(j, replica));
  const times = Array.from({ length: stages }, (_, stage) => {
    const own = ways.map((each) => each[stage]!);
    const latency = own.reduce((most, { latencyNs }) => Math.max(most, latencyNs), 0);
    return own.reduce(
      (sum, { rate, down }) => sum + transferNs(bytes / stages, Math.min(rate, downRates[down]!)),
      latency,
    );
  });
  return Math.max(...times);
}
