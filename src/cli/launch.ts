import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Option } from 'commander';
import { wholeNumber } from '../base/whole-number.ts';

export interface LaunchOptions {
  readonly launch?: string;
  readonly retries: number;
  /** What tells this command and all its attempts from others. */
  readonly launched?: string;
}

export const launchOption = () =>
  new Option('--launch <command>', 'start the ranks with this command, as in: --launch "mpirun -n 4"');

export function retriesOption(): Option {
  return new Option(
    '--retries <count>',
    'with --launch: how often to start again if a rank is lost, from the newest checkpoint',
  )
    .argParser((text) => wholeNumber('--retries', text, 0, 1000))
    .default(0);
}

/** Given to the ranks of every attempt: runs that an earlier one began are known by it and resumed. */
export const launchedOption = () => new Option('--launched <id>').hideHelp();

/** The same command without the options that are the launching process's own. */
export function launchedArguments(args: readonly string[]): string[] {
  const own = ['--launch', '--retries'];
  return args.filter(
    (arg, i) =>
      !own.includes(arg) && !own.includes(args[i - 1] ?? '') && !own.some((name) => arg.startsWith(`${name}=`)),
  );
}

/** What launchers say when a process was lost. Those of MPICH give its number, which rank 0 has told at the start. */
export function lostRank(told: string): string | undefined {
  const byRank = /process rank (\d+) with PID \d+ on node (\S+) exited on (signal \d+[^\n.]*)/.exec(told);
  if (byRank !== null) return `rank ${byRank[1]} on ${byRank[2]} ended on ${byRank[3]}`;
  const byProcess = /PID (\d+) RUNNING AT (\S+)\s*\n?=?\s*EXIT CODE: (\d+)/.exec(told);
  if (byProcess === null) return undefined;
  const [, process, host, code] = byProcess;
  const places = /^ranks? (\d+)(?:–\d+)? on (\S+), process(?:es)? ([\d ]+)$/gm;
  const ranks = [...told.matchAll(places)].flatMap(([, first, machine, processes]) => {
    const place = processes!.trim().split(' ').indexOf(process!);
    return place < 0 ? [] : [{ rank: Number(first) + place, machine }];
  });
  // The launcher may know the machine by another name.
  const found = ranks.findLast(({ machine }) => machine === host) ?? (ranks.length === 1 ? ranks[0] : undefined);
  const who =
    found === undefined ? `process ${process} on ${host}` : `rank ${found.rank} on ${host} (process ${process})`;
  return `${who} ended with code ${code}`;
}

/** Exit codes after which another attempt would end the same way: done, a user's mistake, stopped by hand. */
const final = [0, 2, 130];

/** Starts the command of this process under a launcher, and again if a rank was lost. The exit code of the last attempt. */
export async function launch(command: string, retries: number, launched: string): Promise<number> {
  const main = fileURLToPath(new URL('./main.js', import.meta.url));
  const args = [process.execPath, main, ...launchedArguments(process.argv.slice(2)), '--launched', launched];
  for (let attempt = 0; ; attempt++) {
    const { code, told } = await attemptOnce(command, args);
    const lost = lostRank(told);
    if (lost !== undefined) console.error(`dbench: ${lost}`);
    if (final.includes(code)) return code;
    if (attempt === retries) {
      if (retries > 0) console.error(`dbench: given up after ${retries} retries`);
      return code;
    }
    console.error(`dbench: the ranks ended with code ${code}; starting them again (${attempt + 1} of ${retries})`);
  }
}

/** The last of what was told is enough to see who was lost, and the first to see who was there. */
const keptCharacters = 100_000;

function attemptOnce(command: string, args: readonly string[]) {
  return new Promise<{ code: number; told: string }>((done, fail) => {
    const child = spawn('sh', ['-c', `${command} "$@"`, 'sh', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let [told, out] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      out += chunk;
    });
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      process.stderr.write(chunk);
      told += chunk;
      if (told.length > keptCharacters)
        told = told.slice(0, keptCharacters / 2) + told.slice(told.length - keptCharacters / 4);
    });
    // Ctrl-C reaches the launcher by itself; this process waits for what becomes of it.
    const wait = () => {};
    const end = () => child.kill('SIGTERM');
    process.on('SIGINT', wait);
    process.on('SIGTERM', end);
    child.on('error', fail);
    child.on('close', (code, signal) => {
      process.off('SIGINT', wait);
      process.off('SIGTERM', end);
      // What is printed in the end is the result; of an attempt that failed it is the launcher's complaint.
      (code === 0 ? process.stdout : process.stderr).write(out);
      done({ code: code ?? (signal === 'SIGINT' || signal === 'SIGTERM' ? 130 : 1), told: told + out });
    });
  });
}
