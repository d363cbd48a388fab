import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storeRun } from '../report/stored.ts';

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
/** A server and how to come in. */
async function served(...options: string[]) {
  const child = spawn(process.execPath, [main, 'serve', '--runs', root, '--port', '0', ...options], { cwd: folder });
  const address = await new Promise<string>((done) => child.stdout!.once('data', (text) => done(String(text).trim())));
  const { port, searchParams } = new URL(address);
  return { child, port: Number(port), token: searchParams.get('token')! };
}

let folder: string;
let root: string;
let child: ChildProcess;
let port: number;
let token: string;
let run: string;

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** Paths go out as they are written here. */
function ask(
  path: string,
  headers: Record<string, string> = {},
  options: { method?: string; body?: string | Buffer } = {},
): Promise<Answer> {
  return new Promise((done, failed) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        path,
        method: options.method ?? 'GET',
        headers: { host: `127.0.0.1:${port}`, ...headers },
      },
      (response) => {
        let body = '';
        response.on('data', (part) => {
          body += part;
        });
        response.on('end', () => done({ status: response.statusCode!, headers: response.headers, body }));
        response.on('error', () => done({ status: response.statusCode!, headers: response.headers, body }));
      },
    );
    sent.on('error', failed);
    if (options.body !== undefined) sent.write(options.body);
    sent.end();
  });
}
const cookie = () => ({ cookie: `dbench-${port}=${token}` });
const write = (path: string, body: object, headers: Record<string, string> = {}) =>
  ask(
    path,
    { 'content-type': 'application/json', ...cookie(), ...headers },
    { method: 'POST', body: JSON.stringify(body) },
  );

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-attack-'));
  root = join(folder, 'runs');
  run = (await storeRun(root, { accuracy: [0.5, 0.6] })).id;
  writeFileSync(join(folder, 'secret.json'), '{"secret":"kept"}');
  ({ child, port, token } = await served());
});
afterAll(() => {
  child?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

describe('the server', () => {
  it('lets in who has the token, by a cookie that no script can read', async () => {
    const entered = await ask(`/?token=${token}`);
    expect(entered.status).toBe(303);
    expect(String(entered.headers['set-cookie'])).toMatch(/HttpOnly; SameSite=Strict/);
    expect((await ask('/?token=wrong')).status).toBe(403);
    const listed = await ask('/api/list', cookie());
    expect(JSON.parse(listed.body).runs).toMatchObject([{ id: run, status: 'complete' }]);
    const page = await ask('/');
    expect(page.headers['content-security-policy']).toMatch(
      /default-src 'none'; script-src 'self';.*frame-ancestors 'none'/,
    );
    expect(page.body).not.toMatch(/<script>/);
  });

  it.each(['evil.example', 'evil.example:80', '127.0.0.1', '127.0.0.1:1', 'localhost.evil.example'])(
    'foreign Host %j is refused',
    async (host) => {
      expect((await ask('/api/list', { ...cookie(), host })).status).toBe(403);
      expect((await ask('/', { host })).status).toBe(403);
    },
  );

  it.each([
    { origin: 'http://evil.example' },
    { origin: 'null' },
    { origin: 'https://127.0.0.1' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ])('foreign Origin %j is refused', async (headers) => {
    expect((await ask('/api/list', { ...cookie(), ...headers } as Record<string, string>)).status).toBe(403);
    expect((await write('/api/delete', { run }, headers as Record<string, string>)).status).toBe(403);
    expect(existsSync(join(root, run))).toBe(true);
  });

  it('no token, a wrong token, a form instead of JSON, another method: refused', async () => {
    expect((await ask('/api/list')).status).toBe(401);
    expect((await ask('/api/list', { cookie: `dbench-${port}=${token.slice(1)}` })).status).toBe(401);
    expect((await ask(`/api/list?token=${token}`)).status).toBe(401);
    const form = { ...cookie(), 'content-type': 'application/x-www-form-urlencoded' };
    expect((await ask('/api/delete', form, { method: 'POST', body: `run=${run}` })).status).toBe(415);
    expect((await ask('/api/delete', cookie(), { method: 'DELETE' })).status).toBe(405);
    expect((await ask(`/api/delete?run=${run}`, cookie())).status).toBe(404);
    expect(existsSync(join(root, run))).toBe(true);
  });

  const outside = [
    '../secret.json',
    `..%2fsecret.json`,
    '..%252fsecret.json',
    '%2e%2e%2fsecret.json',
    '../secret.json%00',
    '/etc/passwd',
    '..\\secret.json',
    '.',
    '..',
    '__proto__',
    'constructor',
  ];
  it.each(outside)('traversal by %s is refused in every parameter', async (name) => {
    for (const path of [
      '/api/report?runs=',
      '/api/network?run=',
      '/api/settings?run=',
      '/api/shares?run=',
      '/api/recipe?run=',
      '/api/stream?run=',
      '/api/experiment?name=',
      '/api/round?epoch=0&round=0&run=',
      '/api/round?round=0&epoch=',
      `/api/round?run=${run}&epoch=0&round=`,
    ]) {
      const { status, body } = await ask(path + name.replace('\\', '%5C'), cookie());
      expect(status, path).toBe(400);
      expect(body).not.toMatch(/kept|root:/);
    }
    for (const path of ['', '/', '/api/', '/page.js/']) {
      const answer = await ask(`${path}${name.replace('\\', '%5C')}`.replace(/^(?!\/)/, '/'), cookie());
      expect([200, 400, 404]).toContain(answer.status);
      expect(answer.body).not.toMatch(/kept|root:/);
    }
    for (const act of ['stop', 'resume', 'delete'])
      expect((await write(`/api/${act}`, { run: name })).status).toBe(400);
    expect((await write('/api/cancel', { job: name })).status).toBe(400);
    expect(existsSync(join(folder, 'secret.json'))).toBe(true);
  });

  it('a body of 10 MB is refused before it is read', async () => {
    const sent = ask(
      '/api/check',
      { ...cookie(), 'content-type': 'application/json' },
      { method: 'POST', body: Buffer.alloc(10 * 2 ** 20, 'a') },
    );
    const outcome = await sent.then(
      ({ status }) => status,
      (error) => (error as NodeJS.ErrnoException).code,
    );
    expect([413, 'ECONNRESET', 'EPIPE']).toContain(outcome);
    expect((await ask('/api/list', cookie())).status).toBe(200);
  });

  it('of 1,000 open streams most are refused, and the server still answers', async () => {
    const open: { destroy(): void }[] = [];
    const statuses = await Promise.all(
      Array.from(
        { length: 1000 },
        () =>
          new Promise<number>((done) => {
            const sent = request(
              {
                host: '127.0.0.1',
                port,
                path: '/api/stream',
                headers: { host: `127.0.0.1:${port}`, ...cookie() },
                agent: false,
              },
              (response) => {
                response.resume();
                done(response.statusCode!);
              },
            );
            sent.on('error', () => done(0));
            open.push(sent);
            sent.end();
          }),
      ),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(64);
    expect((await ask('/api/list', cookie())).status).toBe(200);
    for (const each of open) each.destroy();
    await expect.poll(async () => (await ask('/api/experiments', cookie())).status).toBe(200);
  });

  it('a symlink in runs/ is not a run', async () => {
    const elsewhere = join(folder, 'elsewhere');
    const { id } = await storeRun(elsewhere, { accuracy: [0.5], settings: { name: 'other' } });
    symlinkSync(join(elsewhere, id), join(root, id));
    mkdirSync(join(root, 'half'));
    symlinkSync(join(elsewhere, id, 'experiment.json'), join(root, 'half', 'experiment.json'));
    expect(JSON.parse((await ask('/api/list', cookie())).body).runs.map((row: { id: string }) => row.id)).toEqual([
      run,
    ]);
    for (const name of [id, 'half']) expect((await write('/api/delete', { run: name })).status).toBe(400);
    expect(existsSync(join(elsewhere, id, 'experiment.json'))).toBe(true);
  });

  it('who may only look has another token, and makes the server read and run nothing', async () => {
    const [full, other] = [{ port, token }, await served('--read-only')];
    const mark = join(folder, 'mark');
    const file = join(folder, 'method.mjs');
    writeFileSync(file, `import { writeFileSync } from 'node:fs';\nwriteFileSync(${JSON.stringify(mark)}, '');\n`);
    const yaml = `name: x\nreplicas: 2\nepochs: 1\nalgorithm: { kind: module, path: ${file} }`;
    try {
      expect(other.token).not.toBe(full.token);
      ({ port, token } = other);
      expect((await ask('/api/list', cookie())).status).toBe(200);
      for (const path of ['/api/check', '/api/start']) expect((await write(path, { yaml })).status).toBe(403);
      expect(existsSync(mark)).toBe(false);
      port = full.port;
      expect((await ask('/api/list', cookie())).status).toBe(401);
    } finally {
      ({ port, token } = full);
      other.child.kill('SIGKILL');
    }
  });

  it('a run that is damaged while a tab is open is left out, and the server goes on', async () => {
    const { id } = await storeRun(root, { accuracy: [0.5], settings: { name: 'damaged' } });
    const listed = async () =>
      JSON.parse((await ask('/api/list', cookie())).body).runs.map((row: { id: string }) => row.id) as string[];
    const tab = request({
      host: '127.0.0.1',
      port,
      path: '/api/stream',
      headers: { host: `127.0.0.1:${port}`, ...cookie() },
    });
    tab.on('error', () => {});
    tab.end();
    await expect.poll(listed, { timeout: 10_000 }).toContain(id);
    writeFileSync(join(root, id, 'result.json'), '{');
    await expect.poll(listed, { timeout: 15_000 }).not.toContain(id);
    expect(await listed()).toContain(run);
    expect(child.exitCode).toBe(null);
    tab.destroy();
    rmSync(join(root, id), { recursive: true });
  }, 30_000);

  it('what is no experiment is not started, and says why', async () => {
    const { status, body } = await write('/api/start', { yaml: 'name: x\nreplicas: many' });
    expect(status).toBe(400);
    expect(JSON.parse(body).error).toMatch(/replicas/);
    expect((await write('/api/start', { yaml: 3 })).status).toBe(400);
    expect(
      (await ask('/api/start', { ...cookie(), 'content-type': 'application/json' }, { method: 'POST', body: '{' }))
        .status,
    ).toBe(400);
    expect(JSON.parse((await ask('/api/list', cookie())).body).jobs).toEqual([]);
  });
});
