/**
 * Count sketches of rows: every column is added to one of a few buckets, with a sign. Which and with which sign is a hash of column and step, so that all
 * replicas do the same and errors of one step are not those of the next. ‖sketch‖² is ‖row‖² on average, and sketches add up as rows do.
 *
 * Charikar, Chen, Farach-Colton, "Finding frequent items in data streams", 2002.
 */

/**
 * Of the rows r_i of all replicas: ‖r̄‖²; the mean of ‖r_i − r̄‖²; or ‖r̄‖² less what noise adds to it, if the r_i are independent: an (n−1)-th of the
 * spread. That may fall below 0.
 */
export type SketchFigure = 'centre' | 'spread' | 'common';

/** For each column: twice its bucket, and one more if its sign is negative. */
export function sketchCodes(columns: number, buckets: number, step: number): Uint16Array {
  const salt = Math.imul(step + 1, 0x9e3779b1);
  const codes = new Uint16Array(columns);
  for (let c = 0; c < columns; c++) {
    // The last rounds of MurmurHash3 mix all bits.
    let h = Math.imul(c ^ salt, 0x85ebca6b);
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
    h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
    h ^= h >>> 15;
    codes[c] = (((h >>> 1) % buckets) << 1) | (h & 1);
  }
  return codes;
}

/** The sketch of one row, in float64. */
export function sketchOf(row: ArrayLike<number>, codes: Uint16Array, buckets: number): Float64Array {
  const sums = new Float64Array(2 * buckets);
  for (let c = 0; c < codes.length; c++) sums[codes[c]!]! += row[c]!;
  return Float64Array.from({ length: buckets }, (_, b) => sums[2 * b]! - sums[2 * b + 1]!);
}

/** Of the sketches of all replicas, one after the other, in the order of the replicas. */
export function sketchFigure(figure: SketchFigure, sketches: readonly ArrayLike<number>[]): number {
  const [{ length: buckets }, n] = [sketches[0]!, sketches.length];
  let [centre2, spread] = [0, 0];
  for (let b = 0; b < buckets; b++) {
    // As differences to the first, so that sketches that are equal have no spread at all.
    const first = sketches[0]![b]!;
    let sum = 0;
    for (const sketch of sketches) sum += sketch[b]! - first;
    const shift = sum / n;
    centre2 += (first + shift) ** 2;
    for (const sketch of sketches) spread += (sketch[b]! - first - shift) ** 2 / n;
  }
  return { centre: centre2, spread, common: centre2 - spread / Math.max(1, n - 1) }[figure];
}

interface Sketch {
  readonly figure: SketchFigure;
  readonly row: string;
  readonly buckets: number;
}

/**
 * How many numbers are summed over all replicas for figures that are asked for at once: the sketch of each row, and but for a centre the replica's ‖sketch‖².
 */
export function sketchedNumbers(sketches: readonly Sketch[]): number {
  const rows = new Map(sketches.map(({ row, buckets }) => [`${row} ${buckets}`, buckets]));
  const spreads = new Set(sketches.filter(({ figure }) => figure !== 'centre').map(({ row }) => row));
  return [...rows.values()].reduce((sum, buckets) => sum + buckets, 0) + spreads.size;
}
