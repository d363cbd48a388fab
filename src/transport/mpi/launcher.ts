import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Who started this process as one of several, as its environment tells. */
export interface Launcher {
  readonly name: string;
  /** Which library it starts processes for, if it is known. */
  readonly family: 'Open MPI' | 'MPICH' | undefined;
  /** How many it started, if it is known. */
  readonly size: number | undefined;
  /** Which of them this is. */
  readonly rank: number;
}

export function launcherOf(env: NodeJS.ProcessEnv): Launcher | undefined {
  if (env.OMPI_COMM_WORLD_SIZE)
    return {
      name: 'mpirun of Open MPI',
      family: 'Open MPI',
      size: Number(env.OMPI_COMM_WORLD_SIZE),
      rank: Number(env.OMPI_COMM_WORLD_RANK),
    };
  const slurmSize = env.SLURM_STEP_NUM_TASKS ? Number(env.SLURM_STEP_NUM_TASKS) : undefined;
  if (env.PMIX_RANK !== undefined)
    return {
      name: slurmSize === undefined ? 'PMIx' : 'srun',
      family: undefined,
      size: slurmSize,
      rank: Number(env.PMIX_RANK),
    };
  if (env.PMI_SIZE) {
    const slurm = env.SLURM_PROCID !== undefined;
    return {
      name: slurm ? 'srun' : 'mpirun of MPICH',
      family: slurm ? undefined : 'MPICH',
      size: Number(env.PMI_SIZE),
      rank: Number(env.PMI_RANK),
    };
  }
  return undefined;
}

const graceSeconds = 5;

/**
 * Open MPI's mpirun, asked to end the job, waits for its helpers on all machines, for many minutes if one cannot be reached any
 * more. A rank that has lost others ends the launcher above it, if that is still there after a while.
 */
export function endLauncher(): void {
  const launcher = ancestors().find(({ name }) => /^(mpirun|mpiexec|orterun|orted|prterun|prted)/.test(name));
  if (launcher === undefined) return;
  const { pid, name } = launcher;
  const script = `sleep ${graceSeconds}; [ "$(cat /proc/${pid}/comm 2>/dev/null)" = "${name}" ] && kill -9 ${pid}`;
  spawn('sh', ['-c', script], { detached: true, stdio: 'ignore' }).unref();
}

/** The processes above this one, nearest first: npx or a script may stand between a launcher and a rank. */
function ancestors(): { readonly pid: number; readonly name: string }[] {
  const found: { pid: number; name: string }[] = [];
  try {
    for (let pid = process.ppid; pid > 1; ) {
      const [, name, parent] = /^\d+ \((.*)\) \S+ (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))!;
      found.push({ pid, name: name! });
      pid = Number(parent);
    }
  } catch {
    // No /proc here, or a process that is gone: what was found is all there is.
  }
  return found;
}
