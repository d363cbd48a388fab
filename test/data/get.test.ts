import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { checksumOf } from '../../src/data/folder.ts';
import { get } from '../../src/data/get/get.ts';
import type { GetEvent, GetOptions } from '../../src/data/get/sources.ts';
import type { Collection, DataSource } from '../../src/data/set.ts';
import { send, serve, type TestServer } from './server.ts';

const random = new Random(1, 'test');
const content = Buffer.from(Uint32Array.from({ length: 50_000 }, () => random.uint32()).buffer);
const other = Buffer.from(content).fill(0, 100, 200);

let folder: string;
let server: TestServer | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-get-'));
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  rmSync(folder, { recursive: true, force: true });
});

const web = (...urls: string[]): DataSource => ({ kind: 'web', what: 'the site', urls: { 'a.bin': urls } });
function toy(...sources: DataSource[]): Collection {
  const files = [{ name: 'a.bin', bytes: content.length, checksum: checksumOf(content, 'sha256:') }];
  return { name: 'toy', summary: '', folder: 'toy', files, sources, licence: '', from: '' };
}
const quick: GetOptions = { pauseMs: 1, stallMs: 300 };
const files = () => readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
const part = () => join(folder, '.partial/toy/a.bin.part');

/** Only the file, in its place, whole. */
function expectWhole(name = 'a.bin', bytes = content): void {
  expect(files()).toEqual(['toy', `toy/${name}`]);
  expect(readFileSync(join(folder, 'toy', name)).equals(bytes)).toBe(true);
}

describe('a download', () => {
  it('is verified, put in its place, and not repeated', async () => {
    server = await serve((request, response) => send(request, response, content));
    const progress: GetEvent[] = [];
    const got = await get(toy(web(`${server.url}/a.bin`)), folder, {
      ...quick,
      onEvent: (event) => progress.push(event),
    });
    expect(got).toEqual({
      name: 'toy',
      folder: join(folder, 'toy'),
      source: 'the site',
      files: [join(folder, 'toy/a.bin')],
    });
    expectWhole();
    expect(progress.at(-1)).toEqual({ kind: 'progress', file: 'a.bin', doneBytes: 200_000, totalBytes: 200_000 });
    expect((await get(toy(web(`${server.url}/a.bin`)), folder, quick)).source).toBeNull();
    expect(server.requests).toHaveLength(1);
  });

  it('may be compressed', async () => {
    server = await serve((request, response) => send(request, response, gzipSync(content)));
    await get(toy(web(`${server.url}/a.bin.gz`)), folder, quick);
    expectWhole('a.bin.gz', gzipSync(content));
  });

  it('continues where the connection broke', async () => {
    server = await serve((request, response) => {
      send(request, response, content, 80_000);
      setTimeout(() => response.destroy(), 30);
    });
    await get(toy(web(`${server.url}/a.bin`)), folder, quick);
    expectWhole();
    expect(server.requests.map(({ range }) => range)).toEqual([undefined, 'bytes=80000-', 'bytes=160000-']);
  });

  it('continues when the rest ends early without saying so', async () => {
    server = await serve((request, response) => {
      if (server!.requests.length !== 2)
        return send(request, response, content, server!.requests.length === 1 ? 80_000 : undefined);
      // Without a length the end of the body looks like the end of the file.
      response.writeHead(206, { 'content-range': 'bytes 80000-199999/200000' }).end(content.subarray(80_000, 90_000));
    });
    await get(toy(web(`${server.url}/a.bin`)), folder, quick);
    expectWhole();
    expect(server.requests.map(({ range }) => range)).toEqual([undefined, 'bytes=80000-', 'bytes=90000-']);
  });

  it('is not compressed on its way', async () => {
    let accepted: unknown;
    server = await serve((request, response) => {
      accepted = request.headers['accept-encoding'];
      send(request, response, content);
    });
    await get(toy(web(`${server.url}/a.bin`)), folder, quick);
    expect(accepted).toBe('identity');
  });

  it('continues what an interrupted command left', async () => {
    const stop = new AbortController();
    server = await serve((request, response) =>
      send(request, response, content, server!.requests.length === 1 ? 80_000 : undefined),
    );
    const one = toy(web(`${server.url}/a.bin`));
    const onEvent = (event: GetEvent) => event.kind === 'progress' && event.doneBytes >= 80_000 && stop.abort();
    await expect(get(one, folder, { ...quick, signal: stop.signal, onEvent })).rejects.toThrow(/abort/);
    expect(files()).toEqual(['.partial', '.partial/toy', '.partial/toy/a.bin.part']);
    await get(one, folder, quick);
    expectWhole();
    expect(server.requests.at(-1)!.range).toBe('bytes=80000-');
  });

  it('is begun anew when the part is of something else, or the server knows no ranges', async () => {
    for (const ranges of [true, false]) {
      server = await serve((request, response) => {
        if (!ranges) request.headers.range = undefined;
        send(request, response, content);
      });
      mkdirSync(join(folder, '.partial/toy'), { recursive: true });
      writeFileSync(part(), Buffer.alloc(60_000, 1));
      await get(toy(web(`${server.url}/a.bin`)), folder, quick);
      expectWhole();
      expect(server.requests).toHaveLength(ranges ? 2 : 1);
      rmSync(join(folder, 'toy'), { recursive: true });
      await server.close();
    }
  });

  it('is begun anew when the part is longer than the file', async () => {
    server = await serve((request, response) => send(request, response, content));
    mkdirSync(join(folder, '.partial/toy'), { recursive: true });
    writeFileSync(part(), Buffer.alloc(300_000, 1));
    await get(toy(web(`${server.url}/a.bin`)), folder, quick);
    expectWhole();
  });

  it('of a server that falls silent or is busy is tried again', async () => {
    server = await serve((request, response) => {
      if (server!.requests.length === 1) response.writeHead(503).end();
      else send(request, response, content, server!.requests.length === 2 ? 50_000 : undefined);
    });
    await get(toy(web(`${server.url}/a.bin`)), folder, quick);
    expectWhole();
    expect(server.requests.at(-1)!.range).toBe('bytes=50000-');
  });

  it('replaces a damaged file and leaves none of its other form', async () => {
    server = await serve((request, response) => send(request, response, content));
    mkdirSync(join(folder, 'toy'));
    writeFileSync(join(folder, 'toy/a.bin.gz'), 'damaged');
    await get(toy(web(`${server.url}/a.bin`)), folder, quick);
    expectWhole();
  });
});

describe('sources', () => {
  it('are tried in order, addresses first, then the next source; the mirror before all', async () => {
    server = await serve((request, response) => {
      if (request.url === '/good') send(request, response, content);
      else if (request.url === '/changed') send(request, response, other);
      else response.writeHead(404).end();
    });
    const at = (path: string) => `${server!.url}/${path}`;
    const one = toy(web(at('none'), at('changed')), { ...web(at('good')), what: 'the other' } as DataSource);
    const got = await get(one, folder, { ...quick, mirror: at('mirror/') });
    expect(got.source).toBe('the other');
    expectWhole();
    expect(server.requests.map(({ path }) => path)).toEqual([
      '/mirror/toy/a.bin.gz',
      '/mirror/toy/a.bin',
      '/none',
      '/changed',
      '/good',
    ]);
  });

  it('that all fail are all named, and nothing wrong stays', async () => {
    server = await serve((request, response) =>
      request.url === '/changed' ? send(request, response, other) : response.writeHead(404).end(),
    );
    const one = toy(web(`${server.url}/changed`), { ...web(`${server.url}/none`), what: 'the other' } as DataSource);
    await expect(get(one, folder, quick)).rejects.toMatchObject({
      name: 'UserError',
      message: expect.stringMatching(
        /^no source delivered toy\n {2}- the site: a\.bin: wrong checksum: sha256:.*\n {2}- the other: a\.bin: the server answers 404, not found$/,
      ),
      hint: expect.stringContaining(`put a.bin into ${join(folder, 'toy')} yourself`),
    });
    expect(files()).toEqual([]);
  });

  it('that always break leave their part for the next time', async () => {
    server = await serve((request, response) => {
      send(request, response, content, 10);
      setTimeout(() => response.destroy(), 10);
    });
    await expect(get(toy(web(`${server.url}/a.bin`)), folder, quick)).rejects.toThrow(/\(tried 4 times\)/);
    expect(files()).toEqual(['.partial', '.partial/toy', '.partial/toy/a.bin.part']);
  });

  it('that cannot be reached are left for the next at once', async () => {
    const closed = await serve(() => {});
    await closed.close();
    server = await serve((request, response) => send(request, response, content));
    const one = toy(web(`${closed.url}/a`), { ...web(`${server.url}/a`), what: 'the other' } as DataSource);
    const why: string[] = [];
    await get(one, folder, { ...quick, onEvent: (event) => event.kind === 'failed' && why.push(event.why) });
    expect(why).toEqual(['a.bin: the server refuses the connection']);
  });

  it('may be archives', async () => {
    const tar = gzipSync(
      Buffer.concat([
        header('x/', 0, '5'),
        header('x/readme', 3),
        block('hey'),
        header('x/a.bin', content.length),
        block(content),
        Buffer.alloc(1024),
      ]),
    );
    server = await serve((request, response) => send(request, response, tar));
    const archive = (checksum: string): DataSource => ({
      kind: 'archive',
      what: 'the site',
      url: `${server!.url}/x.tar.gz`,
      bytes: tar.length,
      checksum,
    });
    await get(toy(archive(checksumOf(tar, 'md5:'))), folder, quick);
    expectWhole();
    rmSync(join(folder, 'toy'), { recursive: true });
    await expect(get(toy(archive('md5:00')), folder, quick)).rejects.toThrow(
      /the site: wrong checksum: md5:.*, expected md5:00/,
    );
    expect(files()).toEqual([]);
  });

  it('may be packages whose files do not fit', async () => {
    const missing: DataSource = { kind: 'debian', package: 'no-such-package-anywhere', bytes: 1, folder: 'usr/share' };
    await expect(get(toy(missing), folder, quick)).rejects.toThrow(/Debian package no-such-package-anywhere: /);
    expect(files()).toEqual([]);
  });
});

describe('the data folder', () => {
  it.skipIf(!existsSync('/dev/full'))(
    'that is full: a clear message, and nothing is left (needs /dev/full)',
    async () => {
      server = await serve((request, response) => send(request, response, content));
      mkdirSync(join(folder, '.partial/toy'), { recursive: true });
      symlinkSync('/dev/full', part());
      const fallback = { ...web(`${server.url}/b`), what: 'the other' } as DataSource;
      await expect(get(toy(web(`${server.url}/a`), fallback), folder, quick)).rejects.toMatchObject({
        name: 'UserError',
        message: `cannot write ${join(folder, '.partial/toy/a.bin')}: the disk is full`,
        hint: 'DBENCH_DATA names another folder for data',
      });
      expect(files()).toEqual([]);
      // Another source would not help.
      expect(server.requests.map(({ path }) => path)).toEqual(['/a']);
    },
  );

  it('that is no folder', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    await expect(get(toy(web('http://127.0.0.1:9/a')), file, quick)).rejects.toMatchObject({
      name: 'UserError',
      message: expect.stringMatching(/^cannot write to .*file.*: a part of the path is not a folder$/),
    });
  });

  it('is used by one process at a time; a lock of one that is gone does not count', async () => {
    server = await serve((request, response) => send(request, response, content));
    const one = toy(web(`${server.url}/a`));
    mkdirSync(join(folder, '.partial/toy'), { recursive: true });
    const lock = join(folder, '.partial/toy/lock');
    writeFileSync(lock, String(process.ppid));
    await expect(get(one, folder, quick)).rejects.toThrow(`process ${process.ppid} is getting toy right now`);
    expect(existsSync(lock)).toBe(true);
    writeFileSync(lock, '2000000000');
    await get(one, folder, quick);
    expectWhole();
  });
});

/** A header of the tar format: name, size in octal, checksum, type. */
function header(name: string, size: number, type = '0'): Buffer {
  const bytes = Buffer.alloc(512);
  bytes.write(name, 0);
  bytes.write(`${size.toString(8).padStart(11, '0')} `, 124);
  bytes.write(type, 156);
  bytes.write('ustar\x0000', 257);
  return bytes;
}

function block(bytes: Buffer | string): Buffer {
  const data = Buffer.from(bytes as Buffer);
  return Buffer.concat([data, Buffer.alloc((512 - (data.length % 512)) % 512)]);
}
