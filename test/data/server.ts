import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface TestServer {
  readonly url: string;
  /** What was asked for, in order: the path, and the range if there was one. */
  readonly requests: { path: string; range: string | undefined }[];
  close(): Promise<void>;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A server on this machine, for downloads that go wrong in every way. */
export async function serve(handler: Handler): Promise<TestServer> {
  const requests: TestServer['requests'] = [];
  const server = createServer((request, response) => {
    requests.push({ path: request.url!, range: request.headers.range });
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** Answers with `content`, or the rest of it from where the range begins. */
export function send(request: IncomingMessage, response: ServerResponse, content: Buffer, stopAfter?: number): void {
  const range = /^bytes=(\d+)-$/.exec(request.headers.range ?? '');
  const start = range === null ? 0 : Number(range[1]);
  if (start >= content.length) return void response.writeHead(416).end();
  const headers = { 'content-length': content.length - start };
  if (range === null) response.writeHead(200, headers);
  else
    response.writeHead(206, {
      ...headers,
      'content-range': `bytes ${start}-${content.length - 1}/${content.length}`,
    });
  if (stopAfter === undefined) response.end(content.subarray(start));
  else response.write(content.subarray(start, start + stopAfter));
}
