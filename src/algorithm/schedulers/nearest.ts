import { roundTripNs, scheduler } from '../scheduler.ts';

export const nearest = scheduler({
  name: 'nearest',
  summary: 'every client with the server to which a model is predicted to take the least time, there and back',
  settings: {},
  byTime: true,
  schedule: ({ reach, times }) =>
    reach.map((own, k) => [
      own.reduce((best, s) => (roundTripNs(times!, k, s) < roundTripNs(times!, k, best) ? s : best)),
    ]),
});
