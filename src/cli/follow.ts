import type { Progress } from '../run.ts';
import type { Run } from '../store/runs.ts';
import type { RunProgress } from './progress.ts';

/** Ends runs cleanly on the first Ctrl-C, at once on the second. */
export function interruptible(): { signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const interrupt = () => {
    if (controller.signal.aborted) process.exit(130);
    controller.abort();
    process.stderr.write('\nstopping after this step, with a checkpoint; Ctrl-C again to end at once\n');
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  return {
    signal: controller.signal,
    release() {
      process.off('SIGINT', interrupt);
      process.off('SIGTERM', interrupt);
    },
  };
}

/** Follows one run to its end; the run as it was stored. */
export async function follow(events: AsyncGenerator<Progress>, progress: RunProgress): Promise<Run> {
  let stored: Run | undefined;
  try {
    for await (const event of events) {
      if (event.type === 'run') stored = event.run;
      progress.tell(event);
    }
  } finally {
    progress.close();
  }
  return stored!;
}
