import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { command } from './network.ts';

afterEach(() => vi.restoreAllMocks());

async function printed(...args: string[]): Promise<string> {
  const lines: string[] = [];
  vi.spyOn(console, 'log').mockImplementation((text = '') => void lines.push(String(text)));
  await command().parseAsync(args, { from: 'user' });
  return lines.join('\n');
}

const model = ['--parameters', '272474', '--compute', '0ms'];

it('times a step, with all-reduce beside it', async () => {
  const found = JSON.parse(await printed('time', '10gbe', '--topology', 'ring', '-n', '16', ...model, '--json'));
  expect(found).toMatchObject({
    network: '10gbe',
    replicas: 16,
    stepNs: 1_763_834,
    exact: true,
    sentBytes: 2 * 1_089_896,
  });
  expect(found.allReduceNs).toBeLessThanOrEqual(2_234_844);
  expect(await printed('time', 'aws', '-n', '10', ...model)).toMatch(/critical cycle\s+\w+ → \w+/);
});

it('times a network of one’s own, and refuses mistakes in it by name', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'dbench-network-')), 'mine.yaml');
  const write = (rate: string) =>
    writeFileSync(
      path,
      `name: lab\nnetwork: { kind: uniform, latency: 1ms, rate: ${rate} }\ndevices: { compute: 3ms }\n`,
    );
  write('8Mb/s');
  const found = JSON.parse(await printed('time', path, '-n', '4', '--parameters', '250', '--json'));
  expect(found).toMatchObject({ network: 'lab', stepNs: 3e6 + 1e6 + 2 * 1e6 });
  write('8');
  await expect(printed('show', path)).rejects.toThrow(/network\.rate: the rate 8 has no unit/);
});

it('compares all topologies on a network, and a topology on all networks', async () => {
  const onOne = JSON.parse(await printed('compare', '--network', 'lan', '-n', '8', ...model, '--json'));
  const times = onOne.flatMap(({ stepNs }: { stepNs?: number }) => stepNs ?? []);
  expect(times).toEqual([...times].sort((a: number, b: number) => a - b));
  expect(times.length).toBeGreaterThan(10);
  const onAll = JSON.parse(await printed('compare', '--topology', 'ring', '-n', '8', ...model, '--json'));
  expect(onAll[0].name).toBe('h100');
  await expect(printed('compare', '-n', '8', ...model)).rejects.toThrow(/what stays the same/);
});

it('times rounds of servers and clients, and places replicas', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'dbench-network-')), 'six.yaml');
  writeFileSync(
    path,
    'network: { kind: uniform, latency: 100ms, rate: 1GB/s }\ndevices: { compute: 1s, each: [1, 2, 3, 4, 5, 6, 1, 1] }\n',
  );
  const of = async (scheduler: string) => {
    const algorithm = `{ kind: parallel-servers, servers: 2, carry: false, scheduler: { kind: ${scheduler} } }`;
    const given = [
      '-n',
      '8',
      '--topology',
      'complete',
      '--parameters',
      '250000000',
      '--algorithm',
      algorithm,
      '--json',
    ];
    return JSON.parse(await printed('time', path, ...given)).stepNs / 1e9;
  };
  // 8.2 s until the slower server has all, and 1 s for what the other server sends, which passes its port after that.
  expect(await of('least-loaded')).toBeCloseTo(9.2, 9);
  expect(await of('all')).toBeGreaterThan(13.2);
  const text = await printed('time', 'aws', '-n', '5', ...model, '--placement', 'fastest');
  expect(text).toMatch(/plain gossip .* less than .* as listed \(best of all orders\)/);
});

it('refuses what cannot be timed', async () => {
  await expect(printed('time', '10gbe', '-n', '8', '--parameters', '10')).rejects.toThrow(/time of a step is missing/);
  await expect(printed('time', '10gbe', '-n', '8', '--compute', '1ms')).rejects.toThrow(/size of the model is missing/);
  await expect(printed('time', 'sumit', '-n', '8', ...model)).rejects.toThrow(/no network "sumit"/);
});
