import { type Cohort, heardIn } from './cohort.ts';
import type { Mixing } from './mixing.ts';
import type { Topology } from './topology.ts';

const greatest = (a: number, b: number): number => (b === 0 ? a : greatest(b, a % b));

/** The topology of the servers, with their clients. W leaves clients alone; a round is all that is heard after it. */
export function withClients(peers: Topology, cohort: Cohort): Topology {
  const { clients, servers } = cohort;
  const [known, rounds] = [new WeakMap<Mixing, Mixing>(), new Map<number, { sources: number[][] }>()];
  const among = (step: number) => {
    const own = peers.mixing(step);
    const made = known.get(own) ?? embedded(own, clients);
    known.set(own, made);
    return made;
  };
  const once = Number.isFinite(peers.period) && Number.isFinite(cohort.period);
  const heard = (step: number) => {
    const parts = [cohort.mixing('up', step), among(step), cohort.mixing('down', step)].map(heardIn);
    const of = (i: number) => [...new Set(parts.flatMap((each) => each[i]!))].sort((a, b) => a - b);
    return { sources: Array.from({ length: clients + servers }, (_, i) => of(i)) };
  };
  return {
    kind: peers.kind,
    n: clients + servers,
    k: undefined,
    directed: true,
    columns: undefined,
    period: once ? (peers.period * cohort.period) / greatest(peers.period, cohort.period) : Number.POSITIVE_INFINITY,
    round(step) {
      const found = rounds.get(step) ?? heard(step);
      if (rounds.size >= 256) rounds.clear();
      rounds.set(step, found);
      return found;
    },
    mixing: among,
    push: () => {
      throw new RangeError('servers and clients have no column-stochastic weights');
    },
    cohort,
  };
}

/** Weights of the last replicas; the others, before them, are left alone. */
function embedded({ n, start, stop, source, weight }: Mixing, before: number): Mixing {
  const own = Array.from({ length: before }, (_, i) => i);
  const behind = (places: Int32Array) => Array.from(places, (at) => before + at);
  return {
    n: before + n,
    start: Int32Array.from([...own, ...behind(start)]),
    ...(stop && { stop: Int32Array.from([...own.map((i) => i + 1), ...behind(stop)]) }),
    source: Int32Array.from([...own, ...Array.from(source, (j) => before + j)]),
    weight: Float64Array.from([...own.map(() => 1), ...weight]),
  };
}
