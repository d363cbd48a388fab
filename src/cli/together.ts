import { openWorld, type TransportChoice } from '../transport/choose.ts';
import type { World } from '../transport/world.ts';

export interface TogetherOptions {
  readonly runs: string;
  readonly transport: TransportChoice;
  readonly timeout: number;
  readonly survive?: true;
}

/** Carries out a command together with the other processes that a launcher started, if one did. */
export async function together(
  options: TogetherOptions,
  work: (world: World) => Promise<{ readonly lost: boolean }>,
): Promise<void> {
  const { transport, timeout: timeoutSeconds, survive } = options;
  const world = await openWorld(transport, { timeoutSeconds, survive });
  if (world.rank === 0 && world.size > 1)
    console.error(`${world.size} ranks over ${world.transport}\n${placesOf(world)}`);
  const { lost } = await work(world);
  await world.close(lost);
}

/** Where the ranks are, a line for those that follow each other on one machine: launchers may name one by its process alone. */
function placesOf({ members }: World): string {
  const lines: { host: string; first: number; processes: number[] }[] = [];
  members.forEach(({ host, process }, rank) => {
    if (lines.at(-1)?.host === host) lines.at(-1)!.processes.push(process);
    else lines.push({ host, first: rank, processes: [process] });
  });
  return lines
    .map(({ host, first, processes }) => {
      const several = processes.length > 1;
      const ranks = several ? `ranks ${first}–${first + processes.length - 1}` : `rank ${first}`;
      return `${ranks} on ${host}, process${several ? 'es' : ''} ${processes.join(' ')}`;
    })
    .join('\n');
}
