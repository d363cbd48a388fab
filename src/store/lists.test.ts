import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ListNote, runningLists } from './lists.ts';

describe('lists of runs that are being carried out', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'dbench-lists-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it('are told as long as they last', () => {
    expect(runningLists(root)).toEqual([]);
    const note = new ListNote(root, 'ring, torus', 6);
    // A list whose first run is refused leaves nothing behind.
    expect(readdirSync(root)).toEqual([]);
    note.tell({ run: 'ring-1' });
    note.tell({ run: null, ended: 1, timed: 1, seconds: 2.5 });
    expect(runningLists(root)).toMatchObject([{ title: 'ring, torus', total: 6, ended: 1, timed: 1, seconds: 2.5 }]);
    note.close();
    expect(runningLists(root)).toEqual([]);
    expect(readdirSync(root)).toEqual([]);
  });

  it('of a killed command are not, and the next command clears them away', () => {
    const note = new ListNote(root, 'killed', 3);
    note.tell({ run: 'ring-1' });
    const [name] = readdirSync(join(root, '.lists')).filter((each) => each.endsWith('.lock'));
    // No process has this number.
    writeFileSync(join(root, '.lists', name!), JSON.stringify({ pid: 2 ** 22 + 1, host: hostname() }));
    expect(runningLists(root)).toEqual([]);
    const next = new ListNote(root, 'next', 2);
    next.tell({ run: 'torus-1' });
    expect(readdirSync(join(root, '.lists'))).toHaveLength(2);
    next.close();
    note.close();
  });

  it('do no harm if they cannot be written or read', () => {
    writeFileSync(join(root, 'file'), '');
    const note = new ListNote(join(root, 'file'), 'nowhere', 2);
    note.tell({ ended: 1 });
    note.close();
    const other = new ListNote(root, 'torn', 2);
    other.tell({ run: 'ring-1' });
    const name = readdirSync(join(root, '.lists')).find((each) => each.endsWith('.json'))!;
    writeFileSync(join(root, '.lists', name), '{"title":');
    expect(runningLists(root)).toEqual([]);
    other.close();
  });
});
