import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { hostname, networkInterfaces } from 'node:os';

/** Who may come in: what the server is called, and the word that is asked for. */
export interface Door {
  /** Values of the header Host, in full: whoever comes under another name was led here by somebody else's DNS. */
  readonly hosts: ReadonlySet<string>;
  readonly token: string;
  /** Named after the port: browsers send cookies of one port to all others of the same host. */
  readonly cookie: string;
}

export const isLoopback = (host: string) => ['127.0.0.1', '::1', 'localhost'].includes(host);
const bracketed = (address: string) => (address.includes(':') ? `[${address}]` : address);

/** All names under which a server on this address is reached. */
export function doorOf(host: string, port: number, token: string): Door {
  const everywhere = host === '0.0.0.0' || host === '::';
  const own = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
  const names = [
    '127.0.0.1',
    '::1',
    'localhost',
    ...(isLoopback(host) ? [] : [host]),
    ...(everywhere ? [hostname(), ...own] : []),
  ];
  const hosts = names.flatMap((name) => {
    const lower = bracketed(name).toLowerCase();
    return port === 80 ? [lower, `${lower}:80`] : [`${lower}:${port}`];
  });
  return { hosts: new Set(hosts), token, cookie: `dbench-${port}` };
}

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

export interface Refusal {
  readonly status: number;
  readonly why: string;
}

const digest = (text: string) => createHash('sha256').update(text).digest();
/** In the same time wherever they differ. */
export const sameToken = (given: string, token: string) => timingSafeEqual(digest(given), digest(token));

function cookieOf(header: string | undefined, name: string): string | undefined {
  const found = (header ?? '')
    .split(';')
    .map((part) => part.trim())
    .find((part) => part.startsWith(`${name}=`));
  return found?.slice(name.length + 1);
}

/**
 * Why a request is refused; undefined if it is not. The page itself holds nothing and needs no token; all that is told or done does.
 * Pages of other sites can neither read (no CORS, SameSite cookie) nor write (JSON, Origin, Sec-Fetch-Site).
 */
export function refusalOf({ method, path, headers }: Asked, { hosts, token, cookie }: Door): Refusal | undefined {
  const host = headers.host?.toLowerCase();
  if (host === undefined || !hosts.has(host))
    return { status: 403, why: `this server is not called ${JSON.stringify(headers.host ?? '')}` };
  if (method !== 'GET' && method !== 'POST') return { status: 405, why: 'only GET and POST' };
  const { origin } = headers;
  if (origin !== undefined && origin.toLowerCase() !== `http://${host}`)
    return { status: 403, why: 'requests of other sites are refused' };
  const site = headers['sec-fetch-site'];
  // A link on another site may open the page: it shows nothing that the other site could see.
  const opening = method === 'GET' && path === '/' && headers['sec-fetch-mode'] === 'navigate';
  if (site !== undefined && site !== 'same-origin' && site !== 'none' && !opening)
    return { status: 403, why: 'requests of other sites are refused' };
  if (!path.startsWith('/api/')) return method === 'GET' ? undefined : { status: 405, why: 'only GET' };
  const given = cookieOf(headers.cookie, cookie);
  if (given === undefined || !sameToken(given, token))
    return { status: 401, why: 'the token is missing: open the address that dbench serve printed' };
  if (method === 'POST' && !/^application\/json\b/.test(headers['content-type'] ?? ''))
    return { status: 415, why: 'only JSON' };
  return undefined;
}

/** Nothing runs but the page's own program, nothing is fetched but from here, nobody may put the page into theirs. */
export const safeHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};
