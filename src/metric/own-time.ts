import { pairCourseOf } from '../engine/course.ts';
import type { Experiment } from '../experiment/schema.ts';
import { PairQueue } from '../network/queue.ts';
import type { Happening } from '../network/trace.ts';
import { LinkCounter } from '../network/usage.ts';
import { linkUses, type Retimed } from './retime.ts';
import { type RunSeries, shapesOf } from './series.ts';

const tracedSteps = 4;

/**
 * The virtual times of a run whose replicas average in pairs, on its own network: its queue once more. On another network others would average with
 * others, so there it would be another run.
 */
export function ownTimes(experiment: Experiment, { tensors, steps }: Pick<RunSeries, 'tensors' | 'steps'>): Retimed {
  const { replicas: n, network, devices } = experiment;
  const { length: count } = steps.step;
  const bytes = 4 * tensors.reduce((sum, { size }) => sum + size, 0);
  const course = pairCourseOf(experiment, { network: network!, devices: devices! }, shapesOf({ tensors }));
  const queue = new PairQueue(course);
  const seconds = new Float64Array(count);
  const begun = Array.from({ length: n }, (_, replica) => ({ replica, step: 0, time: 0 }));
  const links = new LinkCounter(n);
  const happenings: Happening[] = [];
  const from = Math.floor(Math.max(0, count - tracedSteps) / 2);
  let [end, tracedFrom, tracedTo] = [0, 0, 0];
  for (let step = 0; step < count; step++) {
    if (step === from) tracedFrom = end;
    const traced = step >= from && step < from + tracedSteps;
    for (const task of queue.take(n)) {
      end = task.time;
      if (task.do === 'begin') {
        begun.push(task);
        continue;
      }
      const { replica, partner, computed: ready, from: start } = task;
      const sent = {
        what: 'message',
        step,
        bytes,
        ready,
        start,
        left: end,
        end,
        behindUp: undefined,
        behindDown: undefined,
      } as const;
      for (const [from, to] of [
        [replica, partner],
        [partner, replica],
      ] as const) {
        links.message(from, to, bytes, end - start);
        if (traced) happenings.push({ ...sent, from, to });
      }
    }
    if (traced) tracedTo = end;
    seconds[step] = end / 1e9;
  }
  for (const { replica, step, time } of begun) {
    const [start, stop] = [Math.max(tracedFrom, time), Math.min(tracedTo, time + course.compute(replica, step))];
    if (start < stop) happenings.push({ what: 'compute', step, replica, start, end: stop });
  }
  const computing = new Float64Array(n);
  for (const { replica, step, time } of begun)
    computing[replica]! += Math.max(0, Math.min(end, time + course.compute(replica, step)) - time);
  return {
    seconds,
    waiting: Array.from(computing, (ns) => (end === 0 ? 0 : 1 - ns / end)),
    links: linkUses(links, end),
    happenings,
    path: [],
    placement: null,
  };
}
