import { isDeepStrictEqual } from 'node:util';
import { type BackendName, backendVersion, chooseBackend } from '../backends.ts';
import { UserError } from '../base/error.ts';
import { packageVersion } from '../base/version.ts';
import { byContent } from '../experiment/files.ts';
import type { Experiment } from '../experiment/schema.ts';
import type { World } from '../transport/world.ts';
import { checkpointsIn, rewindCheckpoints } from './checkpoint.ts';
import type { Checkpoints } from './loop.ts';

/** What all ranks must do alike. */
export interface Agreed {
  readonly backend: BackendName;
  readonly checkpoints: Checkpoints;
}

/** What rank 0 tells the others before they train together. */
interface Briefing {
  readonly version: string;
  readonly experiment: Experiment;
  /** Where checkpoints are kept. */
  readonly folder: string;
  readonly backend: BackendName;
  readonly backendVersion: string;
}

/** The checkpoints that every rank finds, ascending: machines may have disks of their own. */
async function commonCheckpoints(folder: string, world: World): Promise<number[]> {
  const [own = [], ...others] = await world.gather(checkpointsIn(folder));
  return own.filter((step) => others.every((steps) => steps.includes(step)));
}

/** Rank 0 tells the others what to do. `rewind` goes back to one of these checkpoints, and says to which; undefined: to the beginning. */
export async function lead(
  world: World,
  { experiment, folder, backend }: Pick<Briefing, 'experiment' | 'folder' | 'backend'>,
  rewind: (checkpoints: readonly number[]) => Promise<number | undefined>,
): Promise<Agreed> {
  const version = packageVersion();
  await world.share<Briefing>({
    version,
    experiment,
    folder,
    backend,
    backendVersion: await backendVersion(backend),
  });
  const from = await rewind(await commonCheckpoints(folder, world));
  await world.share<number | null>(from ?? null);
  return { backend, checkpoints: { folder, from } };
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** A rank other than 0 hears what to do, and refuses if it could not give the same bits. */
export async function follow(world: World, experiment: Experiment): Promise<Agreed> {
  const said = (await world.share<Briefing | undefined>(undefined))!;
  if (said.version !== packageVersion() || !isDeepStrictEqual(byContent(said.experiment), plain(byContent(experiment))))
    throw new UserError(`rank ${world.rank} has another experiment or another version of dbench than rank 0`, {
      hint: 'start all ranks with the same file, options and version',
    });
  const { folder } = said;
  const backend = await chooseBackend(said.backend);
  const version = await backendVersion(backend);
  if (version !== said.backendVersion)
    throw new UserError(
      `rank ${world.rank} has version ${version} of the library behind ${backend}, rank 0 has ${said.backendVersion}`,
      { hint: 'bits would depend on who computes what: install the same version everywhere, or use --backend onnx' },
    );
  await commonCheckpoints(folder, world);
  const from = (await world.share<number | null>(null)) ?? undefined;
  rewindCheckpoints(folder, from ?? 0);
  return { backend, checkpoints: { folder, from } };
}
