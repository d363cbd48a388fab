/**
 * Passes over single rows. Sums are in float64 over eight lanes, column c in lane c mod 8, each lane ascending: the order of
 * additions does not depend on how a row is cut into shards. `lanes` points to the eight sums, which go on from call to call.
 */

// @ts-ignore: decorator
@inline
function low(address: usize): v128 {
  return f64x2.promote_low_f32x4(v128.load64_zero(address));
}

const SQUARE: i32 = 0;
const DIFFERENCE: i32 = 1;
const ROUNDED: i32 = 2;

/** What two columns contribute; products of float32 are exact in float64. */
// @ts-ignore: decorator
@inline
function term(kind: i32, x: usize, y: usize): v128 {
  if (kind == ROUNDED) {
    const r = f64x2.promote_low_f32x4(f32x4.sub(v128.load64_zero(x), v128.load64_zero(y)));
    return f64x2.mul(r, r);
  }
  const a = low(x);
  if (kind == SQUARE) return f64x2.mul(a, a);
  const d = f64x2.sub(a, low(y));
  return f64x2.mul(d, d);
}

// @ts-ignore: decorator
@inline
function single(kind: i32, x: usize, y: usize): f64 {
  if (kind == ROUNDED) {
    const r = <f64>(load<f32>(x) - load<f32>(y));
    return r * r;
  }
  const a = <f64>load<f32>(x);
  if (kind == SQUARE) return a * a;
  const d = a - <f64>load<f32>(y);
  return d * d;
}

/** Columns [from, to) of the rows that begin at x and y. */
// @ts-ignore: decorator
@inline
function reduce(kind: i32, x: usize, y: usize, from: i32, to: i32, lanes: usize): void {
  let c = from;
  for (; c < to && (c & 7) != 0; c++) {
    const lane = lanes + (<usize>(c & 7) << 3);
    store<f64>(lane, load<f64>(lane) + single(kind, x + (<usize>c << 2), y + (<usize>c << 2)));
  }
  let s0 = v128.load(lanes);
  let s1 = v128.load(lanes, 16);
  let s2 = v128.load(lanes, 32);
  let s3 = v128.load(lanes, 48);
  for (; c + 8 <= to; c += 8) {
    const p = x + (<usize>c << 2);
    const q = y + (<usize>c << 2);
    s0 = f64x2.add(s0, term(kind, p, q));
    s1 = f64x2.add(s1, term(kind, p + 8, q + 8));
    s2 = f64x2.add(s2, term(kind, p + 16, q + 16));
    s3 = f64x2.add(s3, term(kind, p + 24, q + 24));
  }
  v128.store(lanes, s0);
  v128.store(lanes, s1, 16);
  v128.store(lanes, s2, 32);
  v128.store(lanes, s3, 48);
  for (; c < to; c++) {
    const lane = lanes + (<usize>(c & 7) << 3);
    store<f64>(lane, load<f64>(lane) + single(kind, x + (<usize>c << 2), y + (<usize>c << 2)));
  }
}

export function squares(x: usize, from: i32, to: i32, lanes: usize): void {
  reduce(SQUARE, x, x, from, to, lanes);
}

export function differences(x: usize, y: usize, from: i32, to: i32, lanes: usize): void {
  reduce(DIFFERENCE, x, y, from, to, lanes);
}

/** Of differences in float32, as rows hold them. */
export function roundedDifferences(x: usize, y: usize, from: i32, to: i32, lanes: usize): void {
  reduce(ROUNDED, x, y, from, to, lanes);
}

/** Both rows ← their mean; a row is whole cache lines. */
export function meet(x: usize, y: usize, bytes: usize): void {
  const half = f32x4.splat(0.5);
  for (let at: usize = 0; at < bytes; at += 16) {
    const mean = f32x4.mul(half, f32x4.add(v128.load(x + at), v128.load(y + at)));
    v128.store(x + at, mean);
    v128.store(y + at, mean);
  }
}

/** What added and taken away again leaves a whole number, ties to even, of one that is small beside it. */
const WHOLE: f64 = 6755399441055744.0; // 1.5 * 2^52

// @ts-ignore: decorator
@inline
function wholeSteps(x: v128, scale: v128): v128 {
  const whole = f64x2.splat(WHOLE);
  return f64x2.mul(scale, f64x2.sub(f64x2.add(f64x2.div(f64x2.promote_low_f32x4(x), scale), whole), whole));
}

/** Each number of a block of columns ← the next multiple of the block's largest / levels, computed in float64; a row takes whole cache lines. */
export function round(out: usize, x: usize, bytes: usize, block: usize, levels: f64): void {
  for (let from: usize = 0; from < bytes; from += block) {
    const end = min(bytes, from + block);
    let most = f32x4.splat(0);
    let at = from;
    for (; at + 16 <= end; at += 16) most = f32x4.max(most, f32x4.abs(v128.load(x + at)));
    let largest = max(
      max(f32x4.extract_lane(most, 0), f32x4.extract_lane(most, 1)),
      max(f32x4.extract_lane(most, 2), f32x4.extract_lane(most, 3)),
    );
    for (; at < end; at += 4) largest = max(largest, abs(load<f32>(x + at)));
    const scale = f64x2.splat(largest == 0 ? 1 : <f64>largest / levels);
    for (at = from; at < end; at += 16) {
      const four = v128.load(x + at);
      const low = f32x4.demote_f64x2_zero(wholeSteps(four, scale));
      const high = f32x4.demote_f64x2_zero(wholeSteps(v128.shuffle<u64>(four, four, 1, 1), scale));
      v128.store(out + at, v128.shuffle<u64>(low, high, 0, 2));
    }
  }
}
