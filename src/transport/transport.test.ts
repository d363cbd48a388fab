import { expect, it } from 'vitest';
import { shareTransport } from './shared.ts';
import { openTransport } from './threads.ts';
import { blockOf } from './transport.ts';

it('deals every replica to one rank, evenly and in order', () => {
  for (let replicas = 1; replicas <= 20; replicas++)
    for (let ranks = 1; ranks <= replicas; ranks++) {
      const blocks = Array.from({ length: ranks }, (_, rank) => blockOf(replicas, ranks, rank));
      const sizes = blocks.map(({ first, last }) => last - first);
      const joined = blocks.every(({ first }, rank) => first === (rank === 0 ? 0 : blocks[rank - 1]!.last));
      expect([joined, blocks.at(-1)!.last, Math.max(...sizes) - Math.min(...sizes) <= 1]).toEqual([
        true,
        replicas,
        true,
      ]);
    }
});

it('one rank alone has everything', async () => {
  const transport = await openTransport(shareTransport(1, 3, 20), 0);
  expect([transport.first, transport.last]).toEqual([0, 3]);
  const wide = Float64Array.from({ length: 3 * 130 }, (_, i) => i);
  expect([...transport.gather(wide, 130)]).toEqual([...wide]);
  expect(transport.broadcast(7)).toBe(7);
  expect(transport.reduce([1, 2])).toEqual([1, 2]);
  for (let i = 0; i < 3; i++) transport.rows('current').write(i, new Float32Array(20).fill(i + 1));
  expect(transport.mean(transport.rows('current')).view(0)[19]).toBe(2);
});
