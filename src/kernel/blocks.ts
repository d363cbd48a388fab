/**
 * The one order in which parameters of several replicas are added.
 *
 * Every run of at least eight consecutive replicas in a set is cut into aligned blocks: the largest [m·s, (m+1)·s), s = 4, 8, 16, …,
 * that lie in the run. A block of four is (a + b) + (c + d), a larger one the sum of its halves. Blocks and single replicas are added
 * in ascending order. So the few neighbours of a sparse topology are simply added in ascending order, everybody is summed in pairs
 * as a tree, and a block has the same bits in every sum it is part of, whoever computes it.
 */
export interface Block {
  readonly first: number;
  readonly size: number;
}

/** The largest block that begins at `first` and ends by `end`. */
function largest(first: number, end: number): number {
  let size = 1;
  while (first % (2 * size) === 0 && first + 2 * size <= end) size *= 2;
  return size === 2 ? 1 : size;
}

/** Below this a run is too short for blocks to save work, and rows without them can be computed together. */
const leastRun = 8;

/** Blocks of the run of replicas first … end−1. */
export function blocksOfRange(first: number, end: number): Block[] {
  const blocks: Block[] = [];
  for (let at = first; at < end; ) {
    const size = end - first < leastRun ? 1 : largest(at, end);
    blocks.push({ first: at, size });
    at += size;
  }
  return blocks;
}

/** Replicas as a set in ascending order, or the number of them where all are meant. */
export type Members = number | ArrayLike<number>;

/** Blocks of any set of replicas. */
export function blocksOf(replicas: Members): Block[] {
  if (typeof replicas === 'number') return blocksOfRange(0, replicas);
  const blocks: Block[] = [];
  for (let start = 0; start < replicas.length; ) {
    let stop = start + 1;
    while (stop < replicas.length && replicas[stop] === replicas[stop - 1]! + 1) stop++;
    blocks.push(...blocksOfRange(replicas[start]!, replicas[stop - 1]! + 1));
    start = stop;
  }
  return blocks;
}

/** What a block is the sum of: four replicas or two halves. */
export function partsOf({ first, size }: Block): Block[] {
  const [count, step] = size === 4 ? [4, 1] : [2, size / 2];
  return Array.from({ length: count }, (_, i) => ({ first: first + i * step, size: step }));
}

/**
 * The largest sums a rank that owns the replicas first … end−1 can contribute to the sum of `members`: O(log n) of them.
 * Ranks exchange these instead of rows and get the same bits however many they are.
 */
export function partialBlocks(members: Members, first: number, end: number): Block[] {
  const inside = (block: Block): Block[] => {
    if (block.first >= end || block.first + block.size <= first) return [];
    if (block.first >= first && block.first + block.size <= end) return [block];
    return partsOf(block).flatMap(inside);
  };
  return blocksOf(members).flatMap(inside);
}
