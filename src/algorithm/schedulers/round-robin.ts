import { scheduler } from '../scheduler.ts';

/** If all clients went the same way round, those that began at one server would stay together, and servers would only change places. */
export const roundRobin = scheduler({
  name: 'round-robin',
  summary: 'every client from server to server, every other block of clients the other way round',
  settings: {},
  period: (reach) => reach.reduce((product, { length }) => (product % length === 0 ? product : product * length), 1),
  schedule: ({ reach, round, servers }) =>
    reach.map((own, k) => {
      const way = Math.floor(k / servers) % 2 === 0 ? round : -round;
      return [own.at((k + way) % own.length)!];
    }),
});
