import { nanoseconds, timeSetting } from '../../network/units.ts';
import { aloneNs, chosenAtHome, scheduler } from '../scheduler.ts';

export const deadline = scheduler({
  name: 'deadline',
  summary: 'each server with those of its clients that are predicted to be done in time; the others rest',
  settings: { time: timeSetting('of a round').default('10s') },
  byTime: true,
  schedule: (gathering, { time }) =>
    chosenAtHome(gathering, (those, server) =>
      those.filter((client) => aloneNs(gathering.times!, client, server) <= nanoseconds(time)),
    ),
});
