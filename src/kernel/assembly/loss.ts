/** Softmax and the loss of a classifier, for oneDNN, whose own logarithm of a softmax is less precise and can be above 0. */

import { sumOfLanes } from './tensor';

/** k of e^x = 2^k · e^r with |r| ≤ ln 2 / 2. */
// @ts-ignore: decorator
@inline
function wholePower(x: v128): v128 {
  return f32x4.nearest(f32x4.mul(x, f32x4.splat(1.44269504)));
}

/**
 * e^x · 2^−scale within 1e-7 of itself, for |x| below 1,000, where it is at most about 1; e^r is the polynomial of degree 6 that is best for
 * 1 + r + …. 0 where the power of 2 would not be a normal number, or where `but` has ones.
 */
// @ts-ignore: decorator
@inline
function scaledExp(x: v128, scale: v128, but: v128): v128 {
  const k = wholePower(x);
  // ln 2 in two parts: products with the first are exact.
  const near = f32x4.sub(x, f32x4.mul(k, f32x4.splat(0.693359375)));
  const r = f32x4.add(near, f32x4.mul(k, f32x4.splat(2.12194440e-4)));
  let power = f32x4.splat(0.0013836846);
  power = f32x4.add(f32x4.mul(power, r), f32x4.splat(0.0083748159));
  power = f32x4.add(f32x4.mul(power, r), f32x4.splat(0.0416682256));
  power = f32x4.add(f32x4.mul(power, r), f32x4.splat(0.166664202));
  power = f32x4.add(f32x4.mul(power, r), f32x4.splat(0.499999921));
  power = f32x4.add(f32x4.mul(f32x4.mul(power, r), r), r);
  power = f32x4.add(power, f32x4.splat(1));
  const left = f32x4.sub(k, scale);
  // Added to 3 · 2^22, a whole number is in the lowest bits: from there into those of the exponent.
  const exponent = i32x4.shl(f32x4.add(left, f32x4.splat(12582912 + 127)), 23);
  return v128.andnot(f32x4.mul(power, exponent), v128.or(but, f32x4.lt(left, f32x4.splat(-126))));
}

/** The largest element; any if one of them is not a number, which the sums then show. */
function largest(x: usize, count: i32): f32 {
  let a = v128.load32_splat(x);
  let b = a;
  let i = 0;
  for (; i + 8 <= count; i += 8) {
    a = f32x4.pmax(a, v128.load(x + (<usize>i << 2)));
    b = f32x4.pmax(b, v128.load(x + (<usize>i << 2), 16));
  }
  a = f32x4.pmax(a, b);
  let most = max(
    max(f32x4.extract_lane(a, 0), f32x4.extract_lane(a, 1)),
    max(f32x4.extract_lane(a, 2), f32x4.extract_lane(a, 3)),
  );
  for (; i < count; i++) most = max(most, load<f32>(x + (<usize>i << 2)));
  return most;
}

/** What is taken from elements before their exponentials; the difference is exact for all that are not negligible beside the largest. */
// @ts-ignore: decorator
@inline
function originFor(largest: f32): f32 {
  return abs(largest) > 512 ? largest : 0;
}

/** e^x in double precision, for |x| ≤ 0.4. */
function smallExp(x: f64): f64 {
  let sum: f64 = 1;
  for (let i = 13; i > 0; i--) sum = 1 + (sum * x) / <f64>i;
  return sum;
}

// @ts-ignore: decorator
@inline
function addTo(sums: v128, four: v128): v128 {
  const high = v128.shuffle<i32>(four, four, 2, 3, 2, 3);
  return f64x2.add(sums, f64x2.add(f64x2.promote_low_f32x4(four), f64x2.promote_low_f32x4(high)));
}

/**
 * Σ e^(x − max) over all elements but one of the largest, in double precision. Those that are as large count 1 each, so nothing is added up to
 * 1 and taken away again, and even a tiny sum has all its digits.
 */
function sumOfOthers(x: usize, count: i32, max: f32): f64 {
  const origin = originFor(max);
  const origins = f32x4.splat(origin);
  const top = max - origin;
  const scale = wholePower(f32x4.splat(top));
  const maxes = f32x4.splat(max);
  let sums = f64x2.splat(0);
  let equal = i32x4.splat(0);
  let i = 0;
  // Eight at a time: constants are made anew in every pass.
  for (; i + 8 <= count; i += 8) {
    const at = x + (<usize>i << 2);
    const a = v128.load(at);
    const b = v128.load(at, 16);
    const aIsMax = f32x4.eq(a, maxes);
    const bIsMax = f32x4.eq(b, maxes);
    sums = addTo(sums, scaledExp(f32x4.sub(a, origins), scale, aIsMax));
    sums = addTo(sums, scaledExp(f32x4.sub(b, origins), scale, bIsMax));
    // True is −1.
    equal = i32x4.sub(equal, i32x4.add(aIsMax, bIsMax));
  }
  let sum = f64x2.extract_lane(sums, 0) + f64x2.extract_lane(sums, 1);
  let others = sumOfLanes(equal) - 1;
  for (; i < count; i++) {
    const one = v128.load32_splat(x + (<usize>i << 2));
    const isMax = f32x4.eq(one, maxes);
    sum += <f64>f32x4.extract_lane(scaledExp(f32x4.sub(one, origins), scale, isMax), 0);
    others -= i32x4.extract_lane(isMax, 0);
  }
  return sum * smallExp(<f64>f32x4.extract_lane(scale, 0) * 0.6931471805599453 - <f64>top) + <f64>others;
}

/** −log softmax(x)[label], never below 0, and log softmax(x) to `logs`. */
export function crossEntropy(x: usize, logs: usize, count: i32, label: i32): f32 {
  const max = largest(x, count);
  const log = Math.log1p(sumOfOthers(x, count, max));
  const maxes = f32x4.splat(max);
  const logarithms = f32x4.splat(<f32>log);
  let i = 0;
  for (; i + 4 <= count; i += 4) {
    const at = <usize>i << 2;
    v128.store(logs + at, f32x4.sub(f32x4.sub(v128.load(x + at), maxes), logarithms));
  }
  for (; i < count; i++) {
    const at = <usize>i << 2;
    store<f32>(logs + at, load<f32>(x + at) - max - <f32>log);
  }
  return <f32>(<f64>max - <f64>load<f32>(x + (<usize>label << 2)) + log);
}

/**
 * softmax of rows of `width` elements, each up to its own place (row mod width) if `causal`; what is not seen becomes 0.
 */
export function softmax(x: usize, y: usize, rows: i32, width: i32, causal: bool): void {
  const bytes = <usize>width << 2;
  for (let row = 0, own = 0; row < rows; row++) {
    const seen = causal ? own + 1 : width;
    own = own + 1 == width ? 0 : own + 1;
    // A factor that all have in common does not matter.
    const most = largest(x, seen);
    const origins = f32x4.splat(originFor(most));
    const scale = wholePower(f32x4.sub(f32x4.splat(most), origins));
    const none = i32x4.splat(0);
    let sums = f32x4.splat(0);
    let i = 0;
    for (; i + 4 <= seen; i += 4) {
      const at = <usize>i << 2;
      const four = scaledExp(f32x4.sub(v128.load(x + at), origins), scale, none);
      v128.store(y + at, four);
      sums = f32x4.add(sums, four);
    }
    let sum =
      f32x4.extract_lane(sums, 0) +
      f32x4.extract_lane(sums, 1) +
      (f32x4.extract_lane(sums, 2) + f32x4.extract_lane(sums, 3));
    for (; i < seen; i++) {
      const at = <usize>i << 2;
      const one = scaledExp(f32x4.sub(v128.load32_splat(x + at), origins), scale, none);
      const power = f32x4.extract_lane(one, 0);
      store<f32>(y + at, power);
      sum += power;
    }
    const factor: f32 = <f32>1 / sum;
    const factors = f32x4.splat(factor);
    for (i = 0; i + 4 <= seen; i += 4) {
      const at = <usize>i << 2;
      v128.store(y + at, f32x4.mul(v128.load(y + at), factors));
    }
    for (; i < seen; i++) {
      const at = <usize>i << 2;
      store<f32>(y + at, load<f32>(y + at) * factor);
    }
    memory.fill(y + (<usize>seen << 2), 0, bytes - (<usize>seen << 2));
    x += bytes;
    y += bytes;
  }
}

/** dx = y · (dy − Σ dy·y) in each row; only what a causal softmax sees has a gradient. */
export function softmaxGrad(dy: usize, y: usize, dx: usize, rows: i32, width: i32, causal: bool): void {
  const bytes = <usize>width << 2;
  for (let row = 0, own = 0; row < rows; row++) {
    const seen = causal ? own + 1 : width;
    own = own + 1 == width ? 0 : own + 1;
    let sums = f32x4.splat(0);
    let i = 0;
    for (; i + 4 <= seen; i += 4) {
      const at = <usize>i << 2;
      sums = f32x4.add(sums, f32x4.mul(v128.load(dy + at), v128.load(y + at)));
    }
    let dot =
      f32x4.extract_lane(sums, 0) +
      f32x4.extract_lane(sums, 1) +
      (f32x4.extract_lane(sums, 2) + f32x4.extract_lane(sums, 3));
    for (; i < seen; i++) {
      const at = <usize>i << 2;
      dot += load<f32>(dy + at) * load<f32>(y + at);
    }
    const dots = f32x4.splat(dot);
    for (i = 0; i + 4 <= seen; i += 4) {
      const at = <usize>i << 2;
      v128.store(dx + at, f32x4.mul(v128.load(y + at), f32x4.sub(v128.load(dy + at), dots)));
    }
    for (; i < seen; i++) {
      const at = <usize>i << 2;
      store<f32>(dx + at, load<f32>(y + at) * (load<f32>(dy + at) - dot));
    }
    memory.fill(dx + (<usize>seen << 2), 0, bytes - (<usize>seen << 2));
    dy += bytes;
    y += bytes;
    dx += bytes;
  }
}
