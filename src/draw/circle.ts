import { at, coordinate, type Position } from './svg.ts';

/** A circle of n replicas. */
export interface Circle {
  readonly centre: Position;
  readonly radius: number;
}

/** Replica i on the circle, clockwise from the top; one replica alone is in the middle. */
export function place(i: number, n: number, { x, y }: Position, radius: number): Position {
  const angle = (2 * Math.PI * i) / n;
  return n === 1 ? { x, y } : { x: x + radius * Math.sin(angle), y: y - radius * Math.cos(angle) };
}

/** How near to the middle the curve of an edge comes, 1 being the rim: its angle as seen from there, short ones stretched. */
function nearest(angle: number): number {
  return Math.tan((Math.PI / 4) * (1 - (angle / Math.PI) ** 0.7));
}

/**
 * An edge as path data. Few replicas: a straight chord. Many: most edges of a lattice would vanish behind the rim, so a curve that
 * leaves it at about a right angle; its depth still grows with the distance along the ring.
 */
export function edgePath([from, to]: readonly [number, number], n: number, { centre, radius }: Circle): string {
  const [a, b] = [place(from, n, centre, radius), place(to, n, centre, radius)];
  const span = (to - from + n) % n;
  const short = Math.min(span, n - span);
  const angle = (2 * Math.PI * short) / n;
  const middle = span === short ? from + short / 2 : to + short / 2;
  const control = place(middle, n, centre, radius * (2 * nearest(angle) - Math.cos(angle / 2)));
  const relative = (p: Position) => `${coordinate(p.x - a.x)} ${coordinate(p.y - a.y)}`;
  return `M${at(a)}q${relative(control)} ${relative(b)}`;
}

/** The length of an edge's chord. */
export function chord([i, j]: readonly [number, number], n: number, radius: number): number {
  return 2 * radius * Math.abs(Math.sin((Math.PI * (i - j)) / n));
}

/** How much of the circle the edges cover: all, or a band along the rim where all of them are short. */
export function covered(edges: readonly [number, number][], n: number): number {
  const farthest = edges.reduce((most, [i, j]) => Math.max(most, Math.min(Math.abs(i - j), n - Math.abs(i - j))), 0);
  return 1 - nearest((2 * Math.PI * farthest) / n) ** 2;
}
