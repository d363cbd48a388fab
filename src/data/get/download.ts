import { closeSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { UserError } from '../../base/error.ts';
import { reason } from '../../base/file.ts';

/** A source did not deliver; the next one may. */
export class SourceError extends Error {
  override readonly name = 'SourceError';
}

export interface DownloadOptions {
  readonly signal?: AbortSignal | undefined;
  /** Told after every piece; the total is null if the server does not tell it. */
  readonly onProgress?: ((doneBytes: number, totalBytes: number | null) => void) | undefined;
  /** A connection that is silent for so long counts as broken. */
  readonly stallMs?: number | undefined;
  /** Connections to try before giving up, each continuing where the last one broke. */
  readonly attempts?: number | undefined;
  readonly pauseMs?: number | undefined;
}

/** Worth another try: the connection broke or the server is busy. */
class Broken extends Error {}

const sizeIfAny = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/**
 * Fetches `url` into `target`, by way of `target.part`. What is there already is continued by an HTTP range request; a broken connection
 * leaves the part for the next time, a failed write leaves nothing.
 */
export async function download(url: string, target: string, options: DownloadOptions = {}): Promise<void> {
  const { attempts = 4, pauseMs = 500, signal } = options;
  const part = `${target}.part`;
  for (let attempt = 1; ; attempt++) {
    try {
      await continuePart(url, part, options);
      renameSync(part, target);
      return;
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof Broken)) throw error;
      if (attempt >= attempts) throw new SourceError(`${error.message} (tried ${attempts} times)`);
      await sleep(pauseMs * attempt, undefined, signal === undefined ? {} : { signal });
    }
  }
}

/** One connection. */
async function continuePart(url: string, part: string, options: DownloadOptions): Promise<void> {
  const { signal, onProgress, stallMs = 30_000 } = options;
  const stall = new AbortController();
  const timer = setTimeout(() => stall.abort(), stallMs);
  const have = sizeIfAny(part);
  let file: number | undefined;
  try {
    const response = await fetch(url, {
      // Compressed in transit, neither sizes nor ranges would be those of the file.
      headers: { 'accept-encoding': 'identity', ...(have > 0 ? { range: `bytes=${have}-` } : {}) },
      signal: signal === undefined ? stall.signal : AbortSignal.any([signal, stall.signal]),
    });
    const { start, total } = extent(response, have, part);
    file = written(part, () => openSync(part, start === 0 ? 'w' : 'r+'));
    let at = start;
    onProgress?.(at, total);
    for await (const chunk of response.body ?? []) {
      timer.refresh();
      written(part, () => {
        for (let done = 0; done < chunk.length; ) done += writeSync(file!, chunk, done, chunk.length - done, at + done);
      });
      at += chunk.length;
      onProgress?.(at, total);
    }
    if (total !== null && at < total) throw new Broken(`the connection ended after ${at} of ${total} bytes`);
  } catch (error) {
    if (error instanceof UserError || error instanceof SourceError || error instanceof Broken) throw error;
    if (stall.signal.aborted) throw new Broken(`no data for ${stallMs / 1000} s`);
    signal?.throwIfAborted();
    throw networkFailure(error);
  } finally {
    clearTimeout(timer);
    if (file !== undefined) closeSync(file);
  }
}

/** Where the body begins in the file and how long the file is, or why there is none. */
function extent(response: Response, have: number, part: string): { start: number; total: number | null } {
  const { status, headers } = response;
  if (status === 206) {
    const range = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers.get('content-range') ?? '');
    if (range !== null && Number(range[1]) === have)
      return { start: have, total: range[2] === '*' ? null : Number(range[2]) };
  }
  if (status === 416 || status === 206) {
    // The part does not belong to what the server has now: begin anew.
    rmSync(part, { force: true });
    throw new Broken('the server cannot continue the download');
  }
  if (status === 200) {
    const length = headers.get('content-length');
    return { start: 0, total: length === null ? null : Number(length) };
  }
  if (status >= 500 || status === 429 || status === 408) throw new Broken(`the server answers ${status}`);
  throw new SourceError(`the server answers ${status}${status === 404 ? ', not found' : ''}`);
}

/** Connections that cannot be made at all are not tried again: the next source is the better try. */
const unreachable: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the server is not known here; is there a connection to the internet?',
  EAI_AGAIN: 'the name of the server cannot be looked up; is there a connection to the internet?',
  ECONNREFUSED: 'the server refuses the connection',
  EHOSTUNREACH: 'the server cannot be reached',
  ENETUNREACH: 'the server cannot be reached',
  UND_ERR_CONNECT_TIMEOUT: 'the server does not answer',
};

function networkFailure(error: unknown): Error {
  const { cause, message } = error as Error & { cause?: NodeJS.ErrnoException };
  const code = cause?.code ?? '';
  if (code in unreachable) return new SourceError(unreachable[code]);
  if (code === 'ECONNRESET' || code === 'UND_ERR_SOCKET') return new Broken('the connection broke');
  return new Broken(cause?.message || message);
}

/** A failed write is the end of it, whatever the source: the part goes, so that a full disk is not left full. */
function written<T>(part: string, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    rmSync(part, { force: true });
    throw new UserError(`cannot write ${part.replace(/\.part$/, '')}: ${reason(cause)}`, {
      cause,
      hint: 'DBENCH_DATA names another folder for data',
    });
  }
}
