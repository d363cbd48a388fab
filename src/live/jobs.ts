import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeFolder, writeWhole } from '../base/file.ts';

/** A command that was asked for from the page. */
export interface QueuedJob {
  readonly id: string;
  /** What it does, in words. */
  readonly title: string;
  readonly state: 'waiting' | 'running' | 'done' | 'failed' | 'cancelled';
  /** It was asked to stop and is about to. */
  readonly stopping: boolean;
  /** The last lines that it printed. */
  readonly output: string;
}

interface Work {
  readonly id: string;
  readonly title: string;
  readonly args: readonly string[];
  state: QueuedJob['state'];
  stopping: boolean;
  child: ChildProcess | undefined;
}

/** The command itself, from sources or from the package. */
const main = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../cli/main.ts' : '../cli/main.js', import.meta.url),
);
/** The command as this process would be started. */
export const commandLine: readonly string[] = [process.execPath, ...process.execArgv, main];
const mostKept = 20;
const mostWaiting = 50;

/**
 * Ordinary commands, one after the other: the next one starts when the one before has ended and no run of the folder is going on. They
 * are processes of their own and outlive the server; those that wait do not.
 */
export class Jobs {
  readonly #folder: string;
  readonly #root: string;
  readonly #busy: () => boolean;
  #all: Work[] = [];

  constructor(root: string, busy: () => boolean) {
    this.#root = root;
    this.#folder = join(root, '.jobs');
    this.#busy = busy;
  }

  get list(): readonly QueuedJob[] {
    return this.#all.map(({ id, title, state, stopping }) => ({
      id,
      title,
      state,
      stopping: stopping && state === 'running',
      output: this.#output(id),
    }));
  }

  get full(): boolean {
    return this.#all.filter(({ state }) => state === 'waiting').length >= mostWaiting;
  }

  /** Settings, kept as a file for the command to read. */
  start(settings: unknown, title: string): void {
    const id = randomBytes(6).toString('hex');
    makeFolder(this.#folder);
    const file = join(this.#folder, `${id}.json`);
    writeWhole(file, JSON.stringify(settings));
    this.#add({ id, title, args: ['run', file, '--runs', this.#root] });
  }

  resume(run: string): void {
    this.#add({
      id: randomBytes(6).toString('hex'),
      title: `resume ${run}`,
      args: ['run', '--resume', run, '--runs', this.#root],
    });
  }

  /** One that waits is left out; one that runs stops after its step, with a checkpoint. */
  cancel(id: string): boolean {
    const work = this.#all.find((each) => each.id === id);
    if (work === undefined) return false;
    if (work.state === 'waiting') work.state = 'cancelled';
    // A second signal would end it at once, without a checkpoint.
    else if (!work.stopping) work.child?.kill('SIGINT');
    work.stopping = true;
    return true;
  }

  #add(work: Pick<Work, 'id' | 'title' | 'args'>): void {
    const ended = this.#all.filter(({ state }) => state !== 'waiting' && state !== 'running');
    const dropped = new Set(ended.slice(0, Math.max(0, ended.length - mostKept)));
    this.#all = [
      ...this.#all.filter((each) => !dropped.has(each)),
      { ...work, state: 'waiting', stopping: false, child: undefined },
    ];
    this.next();
  }

  /** Starts what is next, if it is time; asked again and again. */
  next(): void {
    const work = this.#all.find(({ state }) => state === 'waiting');
    if (work === undefined || this.#all.some(({ state }) => state === 'running') || this.#busy()) return;
    makeFolder(this.#folder);
    const log = openSync(this.#log(work.id), 'a', 0o600);
    try {
      const child = spawn(commandLine[0]!, [...commandLine.slice(1), ...work.args], {
        detached: true,
        stdio: ['ignore', log, log],
      });
      work.child = child;
      work.state = 'running';
      child.on('error', () => {
        work.state = 'failed';
      });
      child.on('exit', (code) => {
        work.child = undefined;
        work.state = code === 0 ? 'done' : code === 130 ? 'cancelled' : 'failed';
        this.next();
      });
      child.unref();
    } finally {
      closeSync(log);
    }
  }

  #log(id: string): string {
    return join(this.#folder, `${id}.log`);
  }

  #output(id: string): string {
    const path = this.#log(id);
    return existsSync(path) ? readFileSync(path, 'utf8').slice(-4000).split('\n').slice(-12).join('\n') : '';
  }
}
