import { scheduler, serverEndNs } from '../scheduler.ts';

export const leastLoaded = scheduler({
  name: 'least-loaded',
  summary: 'the slowest client first, each to the server that is then predicted to end earliest',
  settings: {},
  byTime: true,
  schedule({ reach, servers, times }) {
    const { computeNs } = times!;
    const loads = Array.from({ length: servers }, (): number[] => []);
    const slowestFirst = reach.map((_, k) => k).sort((a, b) => computeNs[b]! - computeNs[a]! || a - b);
    for (const k of slowestFirst) {
      const ends = reach[k]!.map((s) => serverEndNs(times!, s, [...loads[s]!, k]));
      loads[reach[k]![ends.indexOf(Math.min(...ends))]!]!.push(k);
    }
    return reach.map((_, k) => [loads.findIndex((those) => those.includes(k))]);
  },
});
