import { home, scheduler } from '../scheduler.ts';

export const fixed = scheduler({
  name: 'fixed',
  summary: 'every client with one server for good, as they are dealt',
  settings: {},
  schedule: ({ reach }) => home(reach).map((server) => [server]),
});
