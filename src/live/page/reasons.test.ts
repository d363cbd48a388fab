import { describe, expect, it } from 'vitest';
import type { NetworkRound, ReplicaFrame } from '../../report/report.ts';
import { reasons } from './reasons.ts';

const n = 8;
const ring: NetworkRound = {
  kind: 'ring',
  directed: false,
  columns: null,
  period: 1,
  all: n,
  edges: Array.from({ length: n }, (_, i) => [Math.min(i, (i + 1) % n), Math.max(i, (i + 1) % n)]).flat(),
};
const all = (value: number, others: Readonly<Record<number, number>> = {}) =>
  Array.from({ length: n }, (_, i) => others[i] ?? value);
const frame = (step: number, accuracy: readonly number[], more: Partial<ReplicaFrame> = {}): ReplicaFrame => ({
  step,
  epoch: 0,
  round: 0,
  loss: all(0.5),
  accuracy: all(0.9),
  testLoss: all(0.4),
  testAccuracy: accuracy,
  distance: all(1),
  finished: null,
  ownSteps: null,
  norms: null,
  edges: null,
  ...more,
});
const unknown = { counts: null, totals: null };
const iid = { counts: Array.from({ length: n }, () => [10, 10]), totals: null };

function why(frames: readonly ReplicaFrame[], replica: number, dealt: Parameters<typeof reasons>[4] = unknown) {
  return reasons(frames, frames.at(-1)!, ring, replica, dealt).why.join(' ');
}

describe('why a replica is behind', () => {
  const worse = frame(9, all(0.9, { 3: 0.5 }));

  it('of connections that are drawn in part nothing is told as if it were all', () => {
    const found = reasons([worse], worse, { ...ring, all: 100, edges: [2, 3] }, 3, unknown);
    expect(found.sampled).toBe(true);
    expect(found.table.map(({ name }) => name)).toContain('some of those it hears');
    expect(found.why.join()).not.toMatch(/hear/);
    const none = reasons([worse], worse, { ...ring, all: 100, edges: [0, 1] }, 3, unknown);
    expect(none.why.join()).not.toMatch(/hears nobody/);
  });

  it('a server has no data and no loss of its own, but is there', () => {
    const loss = all(0.5).map((value, i) => (i < 3 ? value : null));
    const told = why([frame(9, all(0.9, { 3: 0.5 }), { loss })], 3, { counts: null, totals: [10, 10, 10] });
    expect(told).toMatch(/is a server.*Nothing stands out/);
    expect(told).not.toMatch(/not there/);
  });

  it('its data, if they are unlike those of all', () => {
    const counts = iid.counts.map((row, i) => (i === 3 ? [20, 0] : row));
    const said = why([worse], 3, { counts, totals: null });
    expect(said).toMatch(/unlike those of all: mostly class 0 \(100 %\), none of 1 of 2 classes/);
    expect(why([worse], 3, iid)).not.toContain('unlike');
  });

  it('few data', () => {
    const counts = iid.counts.map((row, i) => (i === 3 ? [2, 2] : row));
    expect(why([worse], 3, { counts, totals: null })).toMatch(/few data: 4 samples, others 18 on average/);
  });

  it('those it hears, if they are behind by more than chance', () => {
    expect(why([frame(9, all(0.9, { 2: 0.6, 3: 0.5, 4: 0.6 }))], 3)).toContain('Those it hears are behind as well');
    expect(why([frame(9, all(0.9, { 2: 0.899, 3: 0.5 }))], 3)).not.toContain('hears are behind');
  });

  it('its distance to the mean', () => {
    const far = frame(9, all(0.9, { 3: 0.5 }), { distance: all(1, { 3: 4 }) });
    expect(why([far], 3)).toMatch(/2\.91 times as far from the mean/);
  });

  it('its own pace, where replicas do not step together', () => {
    const slow = frame(9, all(0.9, { 3: 0.5 }), { ownSteps: all(20, { 3: 5 }) });
    expect(why([slow], 3)).toContain('It is slow: it made 5 steps of its own, others 18.1 on average');
  });

  it('since when', () => {
    const before = frame(5, all(0.9));
    expect(why([before, frame(7, all(0.9, { 3: 0.6 })), worse], 3)).toContain('since step 8; before, it was not');
    expect(why([frame(5, all(0.9, { 3: 0.6 })), worse], 3)).toContain('from the beginning');
  });

  it('nothing, if nothing stands out; and not at all, if it is not', () => {
    expect(why([worse], 3, iid)).toContain('Nothing stands out');
    expect(why([frame(9, all(0.9, { 3: 0.95 }))], 3)).toContain('It is not behind');
    const lost = frame(9, all(0.9), { loss: all(0.5).map((value, i) => (i === 3 ? null : value)) as number[] });
    expect(why([lost], 3)).toContain('It is not there in this step');
  });

  it('is told with its place among the others', () => {
    const { table, neighbours } = reasons([worse], worse, ring, 3, iid);
    expect(neighbours).toEqual([2, 4]);
    expect(table[0]).toEqual({ name: 'test accuracy', own: '50.00 %', mean: '85.00 %', place: 'last', bad: true });
    expect(table.at(-1)).toMatchObject({ name: 'samples', own: '20', mean: '20' });
  });
});
