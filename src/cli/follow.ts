import type { Progress } from '../run.ts';
import type { Run } from '../store/runs.ts';
import type { World } from '../transport/world.ts';
import type { RunProgress } from './progress.ts';

/** Ends runs cleanly on the first Ctrl-C, at once on the second. */
export function interruptible({ rank, size }: World): { signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const interrupt = () => {
    if (controller.signal.aborted) process.exit(130);
    controller.abort();
    if (rank > 0) return;
    process.stderr.write(
      `\nstopping after this step, with a checkpoint${size > 1 ? ' if the launcher leaves time' : '; Ctrl-C again to end at once'}\n`,
    );
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

/** Follows one run to its end; the run as it was stored, which only rank 0 knows. */
export async function follow(
  events: AsyncGenerator<Progress>,
  progress: RunProgress | undefined,
  note?: (id: string) => void,
): Promise<Run | undefined> {
  let stored: Run | undefined;
  try {
    for await (const event of events) {
      if (event.type === 'run') {
        stored = event.run;
        note?.(stored.id);
      }
      progress?.tell(event);
    }
  } finally {
    progress?.close();
  }
  return stored;
}
