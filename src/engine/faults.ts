import type { Experiment } from '../experiment/schema.ts';
import { Faults } from '../network/faults/faults.ts';
import { type Missing, mixingHeard, pushHeard } from '../network/faults/heard.ts';
import type { Attendance } from '../network/faults/presence.ts';
import type { FaultSettings } from '../network/faults/settings.ts';
import type { EdgeSets } from '../topology/edges.ts';
import { type Mixing, weightOf } from '../topology/mixing.ts';
import type { Topology } from '../topology/topology.ts';
import type { EpochPlan } from './plan.ts';
import type { VirtualTime } from './virtual.ts';

/** The W of a gossip: of what is sent and of what is heard, and push-sum's weights of what is heard. */
interface Weights {
  readonly gossip: number;
  readonly topology: Topology;
  readonly sent: Mixing;
  readonly heard: Mixing;
  readonly push: () => Mixing;
}

const nothing: Missing = new Set();

/** Who hears whom in a run in which messages are lost and replicas come and go. */
export class FaultyRounds {
  readonly faults: Faults;
  readonly settings: FaultSettings;
  /** What the step's gossip missed, if that depends on times. */
  #timed: Missing | undefined;
  #weights: Weights | undefined;

  /** @param faults those of the timetable, if there is one */
  constructor(settings: FaultSettings, { replicas: n, seed }: Pick<Experiment, 'replicas' | 'seed'>, faults?: Faults) {
    this.settings = settings;
    this.faults = faults ?? new Faults(settings, { n, seed });
  }

  /**
   * Before step t: who takes part in it, and if that depends on times, who hears whom.
   *
   * @param round the number of its first gossip
   * @param branch which of its conditions hold that hang on numbers
   */
  begin(
    t: number,
    { epoch, topology }: EpochPlan,
    round: number,
    virtual: VirtualTime | undefined,
    branch: number | undefined,
  ): Attendance {
    this.#weights = undefined;
    this.#timed = undefined;
    if (virtual === undefined) return this.faults.begin(t, topology.round(round).sources, undefined);
    const attendance = virtual.begin(t, epoch, round)!;
    if (this.early) {
      virtual.step({ t, epoch, round, gossips: 1, measured: false, branch });
      this.#timed = virtual.missed;
    }
    return attendance;
  }

  /** Whether a step's times must be known before it. */
  get early(): boolean {
    return this.settings.wait.kind !== 'all';
  }

  weights(topology: Topology, gossip: number): Weights {
    if (this.#weights?.gossip !== gossip || this.#weights.topology !== topology)
      this.#weights = this.#make(topology, gossip);
    return this.#weights;
  }

  #make(topology: Topology, gossip: number): Weights {
    const { absent } = this.faults.attendance;
    const { loss } = this.settings;
    const { sources } = topology.round(gossip);
    const lost = loss?.kind === 'keep' ? new Set(this.faults.lost(gossip, sources).keys()) : nothing;
    const missing = this.#timed ?? lost;
    const edges = loss?.kind === 'keep' && loss.scope === 'edge';
    const mixing = topology.mixing(gossip);
    let push: Mixing | undefined;
    return {
      gossip,
      topology,
      sent: mixingHeard(mixing, absent, nothing),
      heard: mixingHeard(mixing, absent, missing),
      push: () =>
        (push ??= pushHeard(
          topology.push(gossip),
          this.faults.sent(sources),
          missing,
          edges && this.#timed === undefined,
        )),
    };
  }

  /** What is given over the edges of sets among those who are there, and over which of them it is heard. */
  edges({ partners }: EdgeSets, topology: Topology, gossip: number) {
    const { heard } = this.weights(topology, gossip);
    const { sources } = topology.round(gossip);
    const push = pushHeard(topology.push(gossip), this.faults.sent(sources), nothing, false);
    const given = (set: number, i: number) => partners[set]!.source[i]!;
    const weights = partners.map(({ source }) =>
      Float64Array.from(source, (j, i) => (j === i ? 0 : weightOf(push, i, j))),
    );
    const shares = Float64Array.from({ length: topology.n }, (_, i) => weightOf(push, i, i));
    return [{ weights, shares }, (set: number, i: number) => weightOf(heard, i, given(set, i)) !== 0] as const;
  }
}
