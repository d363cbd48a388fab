import { UserError } from '../base/error.ts';
import { linkNames, links } from './links.ts';
import { alone, type World, type WorldOptions } from './world.ts';

export const transports = ['auto', 'threads', ...linkNames] as const;
export type TransportChoice = (typeof transports)[number];

/** Joins the processes that a launcher started, if one did; `choice` says otherwise. */
export async function openWorld(choice: TransportChoice, options: WorldOptions): Promise<World> {
  const launched = linkNames.find((name) => links[name].launcherOf(process.env) !== undefined);
  const launcher = launched && links[launched].launcherOf(process.env);
  if (choice === 'threads' && launcher !== undefined && launcher.size !== 1)
    throw new UserError(`${launcher.name} started ${launcher.size ?? 'several'} processes, but threads use one`, {
      hint: 'leave out --transport, or start dbench without a launcher',
    });
  const kind = choice === 'auto' ? (launched ?? 'threads') : choice;
  if (kind === 'threads') {
    if (options.survive)
      throw new UserError('--survive is for ranks under MPI, and there is one process only', {
        hint: 'as in: mpirun --with-ft ulfm -n 4 dbench run FILE --survive',
      });
    return alone;
  }
  return links[kind].openWorld(options);
}
