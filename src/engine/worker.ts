import { parentPort, workerData } from 'node:worker_threads';
import { openBackend } from '../backends.ts';
import { openTransport } from '../transport/threads.ts';
import type { WorkerData } from './engine.ts';
import { feedOf } from './feed.ts';
import { loop } from './loop.ts';

/** One worker. The first of a process reports the events, which are the same on all. */
const { experiment, prepared, shared, thread, backend, checkpoints } = workerData as WorkerData;
const transport = await openTransport(shared, thread);
const feed = feedOf(experiment, prepared.dataset, prepared.shares);
for await (const event of loop(experiment, feed, transport, await openBackend(backend), checkpoints))
  if (thread === 0) parentPort!.postMessage(event);
transport.close();
