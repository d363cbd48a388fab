import type { GroupOptions, RankGroup, RankLink, RankPlace } from './group.ts';
import { type Launcher, launcherOf } from './mpi/launcher.ts';
import type { World, WorldOptions } from './world.ts';

/** A way for processes to work together. Each is a folder and a row of `links`. */
interface LinkKind<L extends RankLink> {
  /** Who started this process as one of several that are linked this way, as its environment tells. */
  launcherOf(env: NodeJS.ProcessEnv): Launcher | undefined;
  /** In the main thread, once in the life of a process. */
  openWorld(options: WorldOptions): Promise<World>;
  openGroup(place: RankPlace, link: L, options: GroupOptions): Promise<RankGroup>;
  /** Nanoseconds of a call into the library that does next to nothing. */
  callNs(link: L): Promise<number>;
}

/** Loaded only when they are used. */
export const links: { readonly [K in RankLink['kind']]: LinkKind<Extract<RankLink, { kind: K }>> } = {
  mpi: {
    launcherOf,
    openWorld: async (options) => (await import('./mpi/world.ts')).openMpi(options),
    openGroup: async (place, link, options) => (await import('./mpi/group.ts')).openMpiGroup(place, link, options),
    callNs: async (link) => (await import('./mpi/group.ts')).mpiCallNs(link),
  },
};

export const linkNames = Object.keys(links) as RankLink['kind'][];

/** The other ranks, as a thread of one of them speaks with them. */
export const openGroup = (place: RankPlace, options: GroupOptions): Promise<RankGroup> =>
  links[place.link.kind].openGroup(place, place.link, options);
