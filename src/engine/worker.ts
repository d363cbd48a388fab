import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parentPort } from 'node:worker_threads';
import { openBackend } from '../backends.ts';
import { openTransport } from '../transport/threads.ts';
import type { ThreadMessage, WorkerData } from './crew.ts';
import type { Event } from './event.ts';
import { feedOf } from './feed.ts';
import { loop } from './loop.ts';

const tell = (message: ThreadMessage) => parentPort!.postMessage(message);

/** Events of short steps are told together: each message wakes the thread that hears it, which takes a core from those that train. */
const tellEveryMs = 20;

/** Tells what cannot wait at once, together with what has. */
function reporter(): (event: Event) => void {
  let [waiting, told]: [Event[], number] = [[], performance.now()];
  return (event) => {
    waiting.push(event);
    const patient = event.type === 'step' || event.type === 'norms' || event.type === 'edges';
    if (patient && performance.now() - told < tellEveryMs) return;
    tell(waiting);
    [waiting, told] = [[], performance.now()];
  };
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** One worker of a run after the other. The first of a process reports the events, which are the same on all. */
parentPort!.on('message', async ({ experiment, prepared, shared, thread, backend, checkpoints }: WorkerData) => {
  const transport = await openTransport(shared, thread);
  const feed = feedOf(experiment, prepared.dataset, prepared.shares);
  const report = thread === 0 ? reporter() : () => {};
  for await (const event of loop(experiment, feed, transport, await openBackend(backend), checkpoints)) report(event);
  transport.close();
  tell('done');
  // A thread that has nothing to do makes no garbage, so nothing else would let go of this run's memory.
  setImmediate(collectGarbage);
});
