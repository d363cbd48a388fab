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

export interface Followed {
  /** As it was stored, which only rank 0 knows. */
  readonly stored: Run | undefined;
  /** Whether ranks were lost on the way: no other run can follow, it would need all of them. */
  readonly lost: boolean;
}

/** Follows one run to its end. */
export async function follow(
  events: AsyncGenerator<Progress>,
  progress: RunProgress | undefined,
  note?: (id: string) => void,
): Promise<Followed> {
  let stored: Run | undefined;
  let lost = false;
  try {
    for await (const event of events) {
      if (event.type === 'run') {
        stored = event.run;
        note?.(stored.id);
      }
      if (event.type === 'lost') lost = true;
      progress?.tell(event);
    }
  } finally {
    progress?.close();
  }
  return { stored, lost };
}
