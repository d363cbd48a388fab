import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PairQueue } from '../network/queue.ts';
import { blockOf } from '../transport/transport.ts';
import { turnsOf, wavesOf } from './waves.ts';

/** What a queue with any times says, after some of it has been done. */
const tasks = fc
  .record({ n: fc.integer({ min: 2, max: 9 }), salt: fc.nat(1e6), overlap: fc.boolean(), before: fc.nat(30) })
  .map(({ n, salt, overlap, before }) => {
    const drawn = (a: number, b: number, below: number) =>
      (((Math.imul(a + 1, 2654435761) ^ Math.imul(b + 7 + salt, 40503)) >>> 0) % 9973) % below;
    const queue = new PairQueue({
      n,
      overlap,
      compute: (i, k) => 1 + drawn(i, k, 9),
      partner: (i, k) => (i + 1 + drawn(i, k + 1000, n - 1)) % n,
      exchangeNs: (i, j) => drawn(i * j, i + j, 6),
    });
    queue.take(before);
    return { n, told: queue.take(25) };
  });

it('in waves no replica is in two exchanges at once, and each has what it is in in the order of the queue', () => {
  fc.assert(
    fc.property(tasks, ({ n, told }) => {
      const { waves } = wavesOf(told);
      for (const { exchanges } of waves) {
        const met = exchanges.flatMap(({ replica, partner }) => [replica, partner]);
        expect(new Set(met).size).toBe(met.length);
      }
      const inWaves = waves.flatMap(({ exchanges, begins }) => [...exchanges, ...begins]);
      for (let i = 0; i < n; i++) {
        const ofReplica = (list: readonly object[]) =>
          (list as { replica: number; partner?: number; step: number }[])
            .filter(({ replica, partner }) => replica === i || partner === i)
            .map(({ replica, partner, step }) => [replica, partner, step]);
        expect(ofReplica(inWaves)).toEqual(ofReplica(told));
      }
    }),
    { numRuns: 1000 },
  );
});

it('gradients are computed once, by their owner, between their begin and their exchange, and after the one before is applied', () => {
  fc.assert(
    fc.property(tasks, fc.integer({ min: 1, max: 4 }), ({ n, told }, workers) => {
      const { waves, gradients } = wavesOf(told);
      const blocks = Array.from({ length: Math.min(n, workers) }, (_, w) => blockOf(n, Math.min(n, workers), w));
      const when = new Map<string, number>();
      for (const block of blocks) {
        const turns = turnsOf(gradients, waves.length, [block, ...blocks.filter((other) => other !== block)]);
        turns.forEach((own, wave) => {
          for (const { replica, step } of own) {
            expect([replica >= block.first && replica < block.last, when.has(`${replica} ${step}`)]).toEqual([
              true,
              false,
            ]);
            when.set(`${replica} ${step}`, wave);
          }
        });
      }
      const waveOf = (kind: 'exchanges' | 'begins', replica: number, step: number) =>
        waves.findIndex((wave) => wave[kind].some((each) => each.replica === replica && each.step === step));
      for (const { replica, step } of gradients) {
        const wave = when.get(`${replica} ${step}`)!;
        expect(wave).toBeGreaterThan(waveOf('begins', replica, step));
        expect(wave).toBeGreaterThan(waveOf('exchanges', replica, step - 1));
        expect(wave).toBeLessThanOrEqual(waveOf('exchanges', replica, step));
      }
      expect(when.size).toBe(25);
    }),
    { numRuns: 1000 },
  );
});

it('workers wait little for each other', () => {
  const [n, workers] = [64, 2];
  const queue = new PairQueue({
    n,
    overlap: false,
    compute: () => 1000,
    partner: (i, k) => (i + (Math.imul(i * 64 + k + 1, 2654435761) >>> 31 ? 1 : n - 1)) % n,
    exchangeNs: () => 10,
  });
  queue.take(640);
  const blocks = Array.from({ length: workers }, (_, w) => blockOf(n, workers, w));
  let [busy, longest] = [0, 0];
  for (let step = 0; step < 20; step++) {
    const { waves, gradients } = wavesOf(queue.take(n));
    const turns = blocks.map((block) =>
      turnsOf(gradients, waves.length, [block, ...blocks.filter((b) => b !== block)]),
    );
    busy += gradients.length / workers;
    waves.forEach((_, wave) => {
      longest += Math.max(...turns.map((own) => own[wave]!.length));
    });
  }
  expect(longest / busy).toBeLessThan(1.1);
});
