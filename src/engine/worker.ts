import { parentPort, workerData } from 'node:worker_threads';
import { openBackend } from '../backends.ts';
import { threadTransport } from '../transport/threads.ts';
import type { WorkerData } from './engine.ts';
import { feedOf } from './feed.ts';
import { loop } from './loop.ts';

/** One rank in a worker thread. Rank 0 reports the events, which are the same on all. */
const { experiment, dataset, shared, rank, backend, checkpoints } = workerData as WorkerData;
const transport = threadTransport(shared, rank);
const opened = await openBackend(backend);
for await (const event of loop(experiment, feedOf(experiment, dataset), transport, opened, checkpoints))
  if (rank === 0) parentPort!.postMessage(event);
