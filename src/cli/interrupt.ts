import type { World } from '../transport/world.ts';

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
