import type { Worker } from 'node:worker_threads';
import type { BackendName } from '../backends.ts';
import { revived } from '../base/error.ts';
import { startThread } from '../base/thread.ts';
import type { Experiment } from '../experiment/schema.ts';
import type { SharedTransport } from '../transport/shared.ts';
import type { Event } from './event.ts';
import type { Checkpoints } from './loop.ts';
import type { Prepared } from './prepare.ts';

/** What a thread is to do. */
export interface WorkerData {
  readonly experiment: Experiment;
  readonly prepared: Prepared;
  readonly shared: SharedTransport;
  readonly thread: number;
  readonly backend: BackendName;
  readonly checkpoints: Checkpoints | undefined;
}

/** What a thread says: what has happened, if it is the first of its run, and that its part of the run is done. */
export type ThreadMessage = readonly Event[] | 'done';

/** Threads that have loaded their program and have nothing to do; they keep no process alive. Loading it takes longer than many a run. */
const idle: Worker[] = [];

/**
 * Has a thread do each task, and tells what the first of them says until all are done; the first failure ends it. Threads that are done
 * wait for the next run; if one fails, or nobody listens any more, all are ended: the others would wait for it.
 */
export async function* together(tasks: readonly WorkerData[]): AsyncGenerator<Event> {
  const threads = tasks.map(() => idle.pop() ?? startThread('./worker', import.meta.url));
  const queue: Event[] = [];
  let failure: unknown;
  let running = threads.length;
  let wake = () => {};
  threads.forEach((thread, index) => {
    thread.ref();
    thread.on('message', (message: ThreadMessage) => {
      if (message === 'done') running -= 1;
      else queue.push(...message);
      wake();
    });
    thread.on('error', (error) => {
      failure ??= error;
      wake();
    });
    thread.postMessage(tasks[index]);
  });
  try {
    while (true) {
      if (failure !== undefined) throw revived(failure);
      const event = queue.shift();
      if (event !== undefined) yield event;
      else if (running === 0) break;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    for (const thread of threads) thread.removeAllListeners('message').removeAllListeners('error');
    // Of the same cause, others may fail before they are ended.
    if (running > 0) await Promise.all(threads.map((thread) => thread.on('error', () => {}).terminate()));
    else
      for (const thread of threads) {
        thread.unref();
        idle.push(thread);
      }
  }
}
