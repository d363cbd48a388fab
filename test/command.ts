import { type ChildProcess, spawn } from 'node:child_process';

export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end; `meanwhile` is asked again and again, until it says that it has done what it wanted. */
export function run(
  command: readonly string[],
  cwd: string,
  { meanwhile = () => true, env }: { meanwhile?: (child: ChildProcess) => boolean; env?: NodeJS.ProcessEnv } = {},
): Promise<Ended> {
  return new Promise((done, fail) => {
    const child = spawn(command[0]!, command.slice(1), { cwd, env: { ...process.env, ...env } });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
    });
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    const poll = setInterval(() => {
      if (meanwhile(child)) clearInterval(poll);
    }, 5);
    child.on('error', fail);
    child.on('close', (status) => {
      clearInterval(poll);
      done({ status, stdout, stderr });
    });
  });
}
