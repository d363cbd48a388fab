import type { ServerResponse } from 'node:http';
import { UserError } from '../base/error.ts';
import { readLines } from '../metric/live.ts';
import { sizeOf } from '../store/house.ts';
import { liveFile } from '../store/live.ts';
import { type Run, statusOf } from '../store/runs.ts';
import type { Listed } from './api.ts';
import type { RunRow } from './catalogue.ts';

/** Streams of one server together. */
export const mostStreams = 64;
const lookMs = 1000;
/** Of the lines that are sent at once. */
const mostBytes = 2 ** 20;

/** What a stream tells besides the lines of a run. */
export interface Told {
  list(): Listed;
}

/** What changed in the list since a tab heard of it: runs that are new or other than before, and those that are gone. */
export interface ListChange extends Listed {
  readonly gone: readonly string[];
}

/** Of rows that did not change nothing is written down again. */
const texts = new WeakMap<RunRow, string>();
function textOf(row: RunRow): string {
  const text = texts.get(row) ?? JSON.stringify(row);
  texts.set(row, text);
  return text;
}

/**
 * Server-sent events of one tab: the list of runs whenever it changes, and the lines of a run's live file as they come. The id of an event is
 * the byte at which the next line begins, so that a browser that lost the stream continues where it was. The file is looked at again and
 * again, which works on any network disk.
 */
export class Stream {
  readonly #response: ServerResponse;
  readonly #told: Told;
  readonly #run: Run | undefined;
  readonly #timer: NodeJS.Timeout;
  #next: number;
  /** Until this byte it tells nothing of replicas: of what was before the page asks for a few frames. */
  readonly #past: number;
  #list = '';
  #rows = new Map<string, string>();
  #gone = false;

  constructor(response: ServerResponse, told: Told, run: Run | undefined, from: number) {
    this.#response = response;
    this.#told = told;
    this.#run = run;
    this.#next = from;
    this.#past = run === undefined || from > 0 ? 0 : sizeOf(liveFile(run.folder));
    response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'keep-alive' });
    // How long a browser waits before it comes again.
    response.write('retry: 1000\n\n');
    this.#look();
    this.#timer = setInterval(() => this.#look(), lookMs);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#response.end();
  }

  /** A reader that is too slow waits for what it has not read yet. */
  get #full(): boolean {
    return this.#response.writableLength > mostBytes;
  }

  /** All that is new leaves together. */
  #look(): void {
    if (this.#full) return;
    this.#response.cork();
    try {
      this.#lines();
      this.#changes();
    } catch (error) {
      // Files that are damaged, or being removed: the next look tells more.
      if (!(error instanceof UserError)) throw error;
    } finally {
      this.#response.uncork();
    }
  }

  #lines(): void {
    if (this.#run === undefined) return;
    const found = readLines(liveFile(this.#run.folder), this.#next, mostBytes);
    if (found === undefined) {
      if (!this.#gone && statusOf(this.#run) !== 'running') this.#send('ended', '{}', 0);
      this.#gone = true;
      return;
    }
    this.#gone = false;
    if (found.next < this.#next) this.#send('anew', '{}', 0);
    const past = this.#next < this.#past;
    const lines = found.lines.filter((line) => isWhole(line) && !(past && line.startsWith(aboutReplicas)));
    this.#next = found.next;
    if (lines.length > 0) this.#send('lines', `[${lines.join()}]`, this.#next);
  }

  #changes(): void {
    const { runs, ...rest } = this.#told.list();
    const rows = new Map(runs.map((row) => [row.id, textOf(row)]));
    const changed = [...rows].flatMap(([id, text]) => (text === this.#rows.get(id) ? [] : [text]));
    const gone = [...this.#rows.keys()].filter((id) => !rows.has(id));
    const list = JSON.stringify(rest);
    if (changed.length > 0 || gone.length > 0 || list !== this.#list)
      this.#send('list', `${list.slice(0, -1)},"gone":${JSON.stringify(gone)},"runs":[${changed}]}`, this.#next);
    [this.#rows, this.#list] = [rows, list];
  }

  /** JSON has no line breaks, so nothing in a name can begin another event. */
  #send(event: string, data: string, id: number): void {
    this.#response.write(`id: ${id}\nevent: ${event}\ndata: ${data}\n\n`);
  }
}

const aboutReplicas = '{"type":"replicas"';

function isWhole(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
