import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../base/error.ts';
import { makeFolder, reason } from '../base/file.ts';
import { Api, type Asking, type Listed } from './api.ts';
import { Catalogue } from './catalogue.ts';
import { type Door, doorOf, refusalOf, safeHeaders, sameToken } from './guard.ts';
import { Jobs } from './jobs.ts';
import { files } from './shell.ts';
import { mostStreams, Stream } from './stream.ts';

export interface ServeOptions {
  /** Where runs are kept. */
  readonly root: string;
  readonly host?: string;
  readonly port?: number;
  /** Shows, but does nothing. */
  readonly readOnly?: boolean;
}

export interface Served {
  /** With the token. */
  readonly address: string;
  /** An address that lets in once, soon: what is opened by a command can be seen by all users of the machine. */
  once(): string;
  /** Tabs that are open. */
  readonly streams: number;
  close(): Promise<void>;
}

const mostBody = 256 * 1024;
const mostQuery = 16 * 1024;
/** How long an address lets in that does so once. */
const onceMs = 60_000;

/**
 * The same token as before, so that pages stay open over a new start of the server; in a file that only its owner can read. Who may only look has
 * another. A folder that cannot be written to has a new one each time.
 */
function tokenIn(root: string, readOnly: boolean): string {
  const path = join(root, readOnly ? '.serve-token-read-only' : '.serve-token');
  try {
    const known = readFileSync(path, 'utf8').trim();
    if (/^[\w-]{43}$/.test(known)) return known;
  } catch {
    // There is none yet.
  }
  const token = newToken();
  try {
    writeFileSync(path, `${token}\n`, { mode: 0o600 });
  } catch {
    // As said.
  }
  return token;
}

const newToken = () => randomBytes(32).toString('base64url');

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(body));
}

/** Refuses to hold more than it should, however much is sent. */
async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request) {
    size += (part as Buffer).length;
    if (size > mostBody) throw new TooLarge();
    parts.push(part as Buffer);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString());
  } catch {
    throw new UserError('this is no JSON');
  }
}

class TooLarge extends Error {}

/** Serves the page and what it asks for. */
export async function serve({ root, host = '127.0.0.1', port = 0, readOnly = false }: ServeOptions): Promise<Served> {
  makeFolder(root);
  const catalogue = new Catalogue(root);
  const jobs = new Jobs(root, () =>
    catalogue.rows().rows.some(({ status, host }) => status === 'running' && host === null),
  );
  const api = new Api(catalogue, jobs);
  const streams = new Set<Stream>();
  const onceOnly = new Set<string>();
  let door: Door;

  // One answer for all tabs; looked at no more often than they ask.
  let list: { readonly all: Listed; readonly at: number } | undefined;
  const told = {
    list() {
      if (list === undefined || performance.now() - list.at > 800)
        list = { all: { ...api.list(), readOnly }, at: performance.now() };
      return list.all;
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(safeHeaders)) response.setHeader(name, value);
    const { method = '', url = '' } = request;
    const [path = '', search = ''] = url.split(/\?(.*)/s);
    const refusal = refusalOf({ method, path, headers: request.headers }, door);
    if (refusal !== undefined) return refuse(request, response, refusal.status, refusal.why);
    if (search.length > mostQuery) return refuse(request, response, 414, 'the address is too long');
    const query: Asking = new Map(new URLSearchParams(search));
    if (method === 'POST') {
      const write = Object.hasOwn(api.writes, path) ? api.writes[path] : undefined;
      if (write === undefined) return refuse(request, response, 404, 'there is nothing here');
      // Even a look at an experiment runs the modules that it names.
      if (readOnly) return refuse(request, response, 403, 'this server only shows (--read-only)');
      const done = await write(await bodyOf(request));
      list = undefined;
      return send(response, 200, done);
    }
    if (path === '/' && query.has('token')) return enter(response, query.get('token')!);
    const file = files().get(path);
    if (file !== undefined) {
      response.writeHead(200, { 'content-type': file.type });
      return void response.end(file.content);
    }
    if (path === '/api/stream') return stream(request, response, query);
    if (path === '/api/list') return send(response, 200, told.list());
    const read = Object.hasOwn(api.reads, path) ? api.reads[path] : undefined;
    if (read === undefined) return send(response, 404, { error: 'there is nothing here' });
    send(response, 200, await read(query));
  }

  /** The token becomes a cookie that no script can read and no other site makes a browser send; the address loses it. */
  function enter(response: ServerResponse, token: string) {
    if (!onceOnly.delete(token) && !sameToken(token, door.token))
      return send(response, 403, { error: 'this token is not that of the server' });
    response.writeHead(303, {
      location: '/',
      'set-cookie': `${door.cookie}=${door.token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000`,
    });
    response.end();
  }

  function stream(request: IncomingMessage, response: ServerResponse, query: Asking) {
    if (streams.size >= mostStreams) {
      response.setHeader('retry-after', '10');
      return send(response, 503, { error: `${mostStreams} tabs are open already` });
    }
    const id = query.get('run');
    const run = id === undefined ? undefined : api.run(id);
    const from = Number(request.headers['last-event-id'] ?? query.get('from') ?? 0);
    const opened = new Stream(response, told, run, Number.isSafeInteger(from) && from > 0 ? from : 0);
    streams.add(opened);
    response.on('close', () => {
      opened.close();
      streams.delete(opened);
    });
  }

  /** Without reading what else it has to say. */
  function refuse(request: IncomingMessage, response: ServerResponse, status: number, why: string) {
    response.setHeader('connection', 'close');
    send(response, status, { error: why });
    response.on('finish', () => request.destroy());
  }

  function fail(request: IncomingMessage, response: ServerResponse, error: unknown) {
    if (response.headersSent) return void response.destroy();
    if (error instanceof TooLarge) return refuse(request, response, 413, 'this is too much');
    if (error instanceof UserError) return send(response, 400, { error: error.message, hint: error.hint });
    if (error instanceof z.ZodError) return send(response, 400, { error: 'this is not what is asked for here' });
    console.error(error);
    send(response, 500, { error: 'something went wrong; see what dbench serve printed' });
  }

  const server = createServer(
    { headersTimeout: 5000, requestTimeout: 10_000, keepAliveTimeout: 5000 },
    (request, response) => {
      answer(request, response).catch((error) => fail(request, response, error));
    },
  );
  server.maxConnections = 1100;
  await listening(server, host, port);
  const { port: bound } = server.address() as AddressInfo;
  door = doorOf(host, bound, tokenIn(root, readOnly));
  const queue = setInterval(() => jobs.next(), 1000);
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  const addressWith = (token: string) => `http://${name}:${bound}/?token=${token}`;
  return {
    address: addressWith(door.token),
    once() {
      const token = newToken();
      onceOnly.add(token);
      setTimeout(() => onceOnly.delete(token), onceMs).unref();
      return addressWith(token);
    },
    get streams() {
      return streams.size;
    },
    async close() {
      clearInterval(queue);
      for (const each of streams) each.close();
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((done, failed) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const taken = cause.code === 'EADDRINUSE';
      const why = taken
        ? 'another program uses this port'
        : cause.code === 'EADDRNOTAVAIL' || cause.code === 'ENOTFOUND'
          ? 'this machine has no such address'
          : reason(cause);
      failed(
        new UserError(`cannot serve at ${host}:${port}: ${why}`, {
          cause,
          hint: taken ? 'choose another with --port; --port 0 takes any that is free' : undefined,
        }),
      );
    });
    server.listen(port, host, done);
  });
}
