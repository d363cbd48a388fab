import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { liveFile } from '../store/live.ts';
import type { Run } from '../store/runs.ts';
import { Stream } from './stream.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-stream-'));
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true });
});

const append = (...lines: object[]) =>
  appendFileSync(liveFile(folder), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));

/** All that a tab is told of a run, event by event. */
function opened(from: number) {
  let text = '';
  const response = {
    writableLength: 0,
    writeHead() {},
    write: (part: string) => (text += part),
    cork() {},
    uncork() {},
    end() {},
  };
  const told = { list: () => ({ root: '', runs: [], lists: [], jobs: [], readOnly: false }) };
  const stream = new Stream(response as unknown as ServerResponse, told, { folder } as Run, from);
  return {
    close: () => stream.close(),
    lines: () =>
      [...text.matchAll(/id: (\d+)\nevent: lines\ndata: (.*)\n/g)].map(([, id, data]) => [
        Number(id),
        ...JSON.parse(data!).map(({ type, step }: { type: string; step: number }) => `${type} ${step}`),
      ]),
  };
}

it('tells of the replicas what is new, since the page asks for their past; after an interruption all it missed', async () => {
  append({ type: 'step', step: 1 }, { type: 'replicas', step: 1 }, { type: 'lost', step: 2 });
  const first = opened(0);
  append({ type: 'step', step: 3 }, { type: 'replicas', step: 3 });
  // Torn: not yet there.
  appendFileSync(liveFile(folder), '{"type":"step","st');
  await vi.advanceTimersByTimeAsync(1000);
  const [past, news] = first.lines();
  first.close();
  expect(past!.slice(1)).toEqual(['step 1', 'lost 2']);
  expect(news!.slice(1)).toEqual(['step 3', 'replicas 3']);
  const again = opened(past![0] as number);
  again.close();
  expect(again.lines()).toEqual([news]);
});
