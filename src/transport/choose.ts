import { UserError } from '../base/error.ts';
import { launcherOf } from './mpi/launcher.ts';
import { alone, type World } from './world.ts';

export const transports = ['auto', 'threads', 'mpi'] as const;
export type TransportChoice = (typeof transports)[number];

/** Joins the processes that a launcher started, if one did; `choice` says otherwise. */
export async function openWorld(choice: TransportChoice, timeoutSeconds: number): Promise<World> {
  const launcher = launcherOf(process.env);
  if (choice === 'threads' && launcher !== undefined && launcher.size !== 1)
    throw new UserError(`${launcher.name} started ${launcher.size ?? 'several'} processes, but threads use one`, {
      hint: 'leave out --transport, or start dbench without a launcher',
    });
  if (choice === 'threads' || (choice === 'auto' && launcher === undefined)) return alone;
  const { openMpi } = await import('./mpi/world.ts');
  return openMpi(timeoutSeconds);
}
