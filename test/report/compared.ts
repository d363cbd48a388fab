import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dbench, small } from '../engine/runs.ts';

const variants = [
  { name: 'C_complete', algorithm: { kind: 'centralized' } },
  { name: 'D_complete', topology: { kind: 'complete' } },
  { name: 'D_ring', topology: { kind: 'ring' } },
  { name: 'Ada', topology: { kind: 'ada', k0: 6, kEnd: 2 } },
  { name: 'held', topology: { kind: 'ring' }, consensus: { kind: 'fixed', fraction: 0.5, maxDistance: 1, cap: 10 } },
];

/** Real runs at two scales, with two seeds at the larger one, and a folder for what is made of them. */
export async function compared(): Promise<{ folder: string; remove: () => void }> {
  const folder = mkdtempSync(join(tmpdir(), 'dbench-report-'));
  writeFileSync(join(folder, 'all.json'), JSON.stringify({ ...small, name: 'all', compare: variants }));
  for (const [replicas, seed] of [
    [8, 1],
    [12, 1],
    [12, 2],
  ]) {
    const sets = ['--set', `replicas=${replicas}`, '--set', `seed=${seed}`];
    const { status, stderr } = await dbench(['compare', 'all.json', ...sets], folder);
    if (status !== 0) throw new Error(stderr);
  }
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
