import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { small } from '../engine/runs.ts';
import { dbench, installed, main, needing, run, shasOf } from './launch.ts';

/** Two network namespaces are two machines to MPI: they share a disk, and nothing else but a link. */
const [here, there] = [`dbench-a${process.pid}`, `dbench-b${process.pid}`];
const ip = (...args: string[]) => execFileSync('ip', args, { stdio: 'pipe' });

function connect(): void {
  ip('netns', 'add', here);
  ip('netns', 'add', there);
  ip('link', 'add', 'link0', 'netns', here, 'type', 'veth', 'peer', 'name', 'link0', 'netns', there);
  for (const [space, address] of [
    [here, '10.77.0.1/24'],
    [there, '10.77.0.2/24'],
  ] as const) {
    ip('-n', space, 'addr', 'add', address, 'dev', 'link0');
    for (const device of ['lo', 'link0']) ip('-n', space, 'link', 'set', device, 'up');
  }
}

function disconnect(): void {
  for (const space of [here, there])
    try {
      ip('netns', 'del', space);
    } catch {}
}

/** Whether this user may make them: root in a container often may not. */
function allowed(): boolean {
  if (!installed('ip')) return true;
  try {
    connect();
    return true;
  } catch {
    return false;
  } finally {
    disconnect();
  }
}

const needs = { 'mpirun.openmpi': 'openmpi-bin', ip: 'iproute2' };
const test = allowed()
  ? needing(needs)
  : (name: string, _: unknown) => it.skip(`${name} (needs the right to make namespaces)`, () => {});

let folder: string;
let launcher: string[];
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-net-'));
  // Open MPI calls it as it would call ssh: host, then what to run there.
  const agent = join(folder, 'agent');
  writeFileSync(agent, `#!/bin/sh\nshift\nexec ip netns exec ${there} sh -c "$*"\n`, { mode: 0o755 });
  const overTcp = ['btl', 'tcp,self', 'btl_tcp_if_include', '10.77.0.0/24', 'oob_tcp_if_include', '10.77.0.0/24'];
  const settings = ['plm_rsh_agent', agent, ...overTcp].flatMap((each, i) => (i % 2 === 0 ? ['--mca', each] : [each]));
  const hosts = ['--host', '10.77.0.1:2,10.77.0.2:2', '-n', '4'];
  launcher = ['ip', 'netns', 'exec', here, 'mpirun.openmpi', ...hosts, ...settings];
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('two machines', () => {
  beforeAll(connect);
  afterAll(disconnect);

  test('give the bits of one', async () => {
    writeFileSync(join(folder, 'small.yaml'), JSON.stringify({ ...small, epochs: 1 }));
    const args = ['run', 'small.yaml', '--json'];
    expect(shasOf(await dbench(args, folder, launcher))).toEqual(shasOf(await dbench(args, folder)));
  });

  test('end when the link between them is cut, and say who waits for whom', async () => {
    writeFileSync(join(folder, 'long.yaml'), JSON.stringify({ ...small, epochs: 5000 }));
    let cutAt = 0;
    const meanwhile = () => {
      const [id] = existsSync(join(folder, 'cut')) ? readdirSync(join(folder, 'cut')) : [];
      const checkpoints = join(folder, 'cut', id ?? '', 'checkpoints');
      if (id === undefined || !existsSync(checkpoints) || readdirSync(checkpoints).length === 0) return false;
      ip('-n', here, 'link', 'set', 'link0', 'down');
      cutAt = performance.now();
      return true;
    };
    const command = [...launcher, process.execPath, main, 'run', 'long.yaml', '--runs', 'cut', '--timeout', '4'];
    const { status, stderr } = await run(command, folder, { meanwhile });
    expect(status).not.toBe(0);
    expect(stderr).toMatch(/rank [01] on \S+ has waited 4 s for .*; no answer from rank 2 on \S+, rank 3 on/);
    // 4 s, 2 s for those who are left to find each other, 5 s for the launcher; the rest for a busy machine.
    expect(performance.now() - cutAt).toBeLessThan(40_000);
  });
});
