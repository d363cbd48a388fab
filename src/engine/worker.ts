import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parentPort } from 'node:worker_threads';
import { openBackend } from '../backends.ts';
import { openTransport } from '../transport/threads.ts';
import type { ThreadMessage, WorkerData } from './crew.ts';
import { feedOf } from './feed.ts';
import { loop } from './loop.ts';

const tell = (message: ThreadMessage) => parentPort!.postMessage(message);

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** One worker of a run after the other. The first of a process reports the events, which are the same on all. */
parentPort!.on('message', async ({ experiment, prepared, shared, thread, backend, checkpoints }: WorkerData) => {
  const transport = await openTransport(shared, thread);
  const feed = feedOf(experiment, prepared.dataset, prepared.shares);
  for await (const event of loop(experiment, feed, transport, await openBackend(backend), checkpoints))
    if (thread === 0) tell(event);
  transport.close();
  tell({ type: 'done' });
  // A thread that has nothing to do makes no garbage, so nothing else would let go of this run's memory.
  setImmediate(collectGarbage);
});
