import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { z } from 'zod';
import { parseJson, writeWhole } from './file.ts';

/**
 * Who holds a lock. The number of a process may belong to another one by now, its start tells them apart; and on a disk that machines
 * share, the number says nothing on another host.
 */
const holderSchema = z.object({
  pid: z.int().min(1),
  started: z.string().optional(),
  host: z.string().optional(),
});

/** A lock is touched so often while it is held; one of another host that was not touched for so long is a dead process's. */
const [touchMs, deadMs] = [10_000, 40_000];

/** Whether there is a process with this number, whoever owns it. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** When a process was started, in whatever form the system has; undefined if it does not say. */
function startOf(pid: number): string | undefined {
  try {
    // Behind the name, which may hold anything, the 20th number counts clock ticks since the machine was started.
    if (process.platform === 'linux')
      return readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')[19];
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch {
    return undefined;
  }
}

const self = (): z.output<typeof holderSchema> => ({
  pid: process.pid,
  started: startOf(process.pid),
  host: hostname(),
});

/** Writes a lock, in the place of one that is there; returns what removes it. */
export function writeLock(path: string): () => void {
  writeWhole(path, JSON.stringify(self()));
  return holding(path);
}

/** Takes a lock that nobody holds; returns what removes it, or who holds it. */
export function takeLock(path: string): (() => void) | Lock {
  for (;;) {
    try {
      writeFileSync(path, JSON.stringify(self()), { flag: 'wx' });
      return holding(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      const found = readLock(path);
      if (found?.held) return found;
      rmSync(path, { force: true });
    }
  }
}

function holding(path: string): () => void {
  const touch = setInterval(() => {
    try {
      utimesSync(path, new Date(), new Date());
    } catch {
      // Somebody removed it.
    }
  }, touchMs).unref();
  return () => {
    clearInterval(touch);
    rmSync(path, { force: true });
  };
}

/** A lock that is there, and whether its process still runs. */
export interface Lock {
  readonly held: boolean;
  /** Held by this very process. */
  readonly own: boolean;
  /** `process 12`, `process 12 on node7` */
  readonly holder: string;
  /** The other machine on which it is held. */
  readonly host: string | undefined;
}

export function readLock(path: string): Lock | undefined {
  let text: string;
  let touchedMs: number;
  try {
    text = readFileSync(path, 'utf8');
    touchedMs = statSync(path).mtimeMs;
  } catch (error) {
    // Not asked for beforehand: the lock may go between the question and the reading.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const content = parseJson(text);
  // Version 0.1 wrote the number alone.
  const parsed = holderSchema.safeParse(typeof content === 'number' ? { pid: content } : content);
  if (!parsed.success) return { held: false, own: false, holder: 'an unknown process', host: undefined };
  const { pid, started, host = hostname() } = parsed.data;
  if (host !== hostname())
    return { held: Date.now() - touchedMs < deadMs, own: false, holder: `process ${pid} on ${host}`, host };
  const held = isAlive(pid) && (started === undefined || started === (startOf(pid) ?? started));
  return { held, own: held && pid === process.pid, holder: `process ${pid}`, host: undefined };
}
