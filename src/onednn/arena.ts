import { type Call, type Place, usesOf } from './recorder.ts';

type ArenaPlace = Extract<Place, { kind: 'arena' }>;

interface Life {
  readonly place: ArenaPlace;
  readonly first: number;
  last: number;
}

const alignment = 64;
const roundUp = (bytes: number) => Math.ceil(bytes / alignment) * alignment;

export interface Arena {
  readonly bytes: number;
  readonly offsets: ReadonlyMap<Place, number>;
}

/**
 * Gives each tensor of the arena its place: two may share memory unless there is a call between whose first and last use both
 * fall. Largest first, each at the lowest offset that is free for all of its life. Constants live for ever.
 */
export function planArena(calls: readonly Call[]): Arena {
  const lives = new Map<Place, Life>();
  calls.forEach((call, at) => {
    for (const { place } of usesOf(call)) {
      if (place.kind !== 'arena') continue;
      const known = lives.get(place);
      if (known === undefined) {
        const constant = place.initial !== undefined;
        lives.set(place, { place, first: constant ? 0 : at, last: constant ? calls.length : at });
      } else known.last = Math.max(known.last, at);
    }
  });
  const offsets = new Map<Place, number>();
  const placed: (Life & { readonly start: number; readonly end: number })[] = [];
  let bytes = 0;
  for (const life of [...lives.values()].sort((a, b) => b.place.bytes - a.place.bytes || a.first - b.first)) {
    const size = roundUp(life.place.bytes);
    let start = 0;
    // In the order of their offsets, so that the first gap that is large enough is the lowest.
    for (const other of placed) {
      if (other.last < life.first || other.first > life.last) continue;
      if (start + size <= other.start) break;
      start = Math.max(start, other.end);
    }
    offsets.set(life.place, start);
    const index = placed.findIndex((other) => other.start > start);
    placed.splice(index < 0 ? placed.length : index, 0, { ...life, start, end: start + size });
    bytes = Math.max(bytes, start + size);
  }
  return { bytes, offsets };
}
