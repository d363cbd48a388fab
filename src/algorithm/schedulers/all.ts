import { scheduler } from '../scheduler.ts';

export const all = scheduler({
  name: 'all',
  summary: 'every client with every server that it reaches: it begins with their mean',
  settings: {},
  schedule: ({ reach }) => reach,
});
