/** Softmax and the loss of a classifier, for oneDNN, whose own logarithm of a softmax is less precise and can be above 0. */

/**
 * e^(x − max) of floats that are at most `max`, within 1e-7 of itself: 2^k · e^r with |r| ≤ ln 2 / 2, by the polynomial of degree 6 that is
 * best for 1 + r + …. What the difference loses in its rounding is added to r again, or far elements would be off by 1e-6.
 */
// @ts-ignore: decorator
@inline
function exp(x: v128, max: v128): v128 {
  const difference = f32x4.sub(x, max);
  const back = f32x4.sub(difference, x);
  const lost = f32x4.sub(f32x4.sub(x, f32x4.sub(difference, back)), f32x4.add(max, back));
  const k = f32x4.nearest(f32x4.mul(difference, f32x4.splat(1.44269504)));
  // ln 2 in two parts: products with the first are exact.
  const near = f32x4.sub(difference, f32x4.mul(k, f32x4.splat(0.693359375)));
  const r = f32x4.add(f32x4.add(near, f32x4.mul(k, f32x4.splat(2.12194440e-4))), lost);
  let power = f32x4.splat(0.0013836846);
  power = f32x4.add(f32x4.mul(power, r), f32x4.splat(0.0083748159));
  power = f32x4.add(f32x4.mul(power, r), f32x4.splat(0.0416682256));
  power = f32x4.add(f32x4.mul(power, r), f32x4.splat(0.166664202));
  power = f32x4.add(f32x4.mul(power, r), f32x4.splat(0.499999921));
  power = f32x4.add(f32x4.mul(f32x4.mul(power, r), r), r);
  power = f32x4.add(power, f32x4.splat(1));
  // Added to 3 · 2^22, a whole number is in the lowest bits: from there into those of the exponent.
  const exponent = i32x4.shl(f32x4.add(k, f32x4.splat(12582912 + 127)), 23);
  // Below this, where 2^k would not be a normal number, nothing is left of it.
  return v128.andnot(f32x4.mul(power, exponent), f32x4.lt(difference, f32x4.splat(-87)));
}

/** Σ e^(x − max), in double precision. */
function sumExp(x: usize, count: i32, max: f32): f64 {
  const maxes = f32x4.splat(max);
  let sums = f64x2.splat(0);
  let i = 0;
  for (; i + 4 <= count; i += 4) {
    const four = exp(v128.load(x + (<usize>i << 2)), maxes);
    const high = v128.shuffle<i32>(four, four, 2, 3, 2, 3);
    sums = f64x2.add(sums, f64x2.add(f64x2.promote_low_f32x4(four), f64x2.promote_low_f32x4(high)));
  }
  let sum = f64x2.extract_lane(sums, 0) + f64x2.extract_lane(sums, 1);
  for (; i < count; i++) sum += <f64>f32x4.extract_lane(exp(v128.load32_splat(x + (<usize>i << 2)), maxes), 0);
  return sum;
}

/** The first of the largest elements; any if one of them is not a number, which the sums then show. */
function indexOfLargest(x: usize, count: i32): i32 {
  let mosts = v128.load32_splat(x);
  let i = 0;
  for (; i + 4 <= count; i += 4) mosts = f32x4.pmax(mosts, v128.load(x + (<usize>i << 2)));
  let most = max(
    max(f32x4.extract_lane(mosts, 0), f32x4.extract_lane(mosts, 1)),
    max(f32x4.extract_lane(mosts, 2), f32x4.extract_lane(mosts, 3)),
  );
  for (; i < count; i++) most = max(most, load<f32>(x + (<usize>i << 2)));
  mosts = f32x4.splat(most);
  for (i = 0; i + 4 <= count; i += 4) if (v128.any_true(f32x4.eq(v128.load(x + (<usize>i << 2)), mosts))) break;
  for (; i < count; i++) if (load<f32>(x + (<usize>i << 2)) == most) return i;
  return 0;
}

/**
 * −log softmax(x)[label], and log softmax(x) to `logs`. The largest element is left out of the sum and comes back by log(1 + sum): so
 * even a tiny loss has all its digits, and none is below 0.
 */
export function crossEntropy(x: usize, logs: usize, count: i32, label: i32): f32 {
  const top = indexOfLargest(x, count);
  const max = load<f32>(x + (<usize>top << 2));
  const rest = sumExp(x, top, max) + sumExp(x + ((<usize>top + 1) << 2), count - top - 1, max);
  const log = Math.log1p(rest);
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
    const top = load<f32>(x + (<usize>indexOfLargest(x, seen) << 2));
    const tops = f32x4.splat(top);
    let sums = f32x4.splat(0);
    let i = 0;
    for (; i + 4 <= seen; i += 4) {
      const at = <usize>i << 2;
      const four = exp(v128.load(x + at), tops);
      v128.store(y + at, four);
      sums = f32x4.add(sums, four);
    }
    let sum =
      f32x4.extract_lane(sums, 0) +
      f32x4.extract_lane(sums, 1) +
      (f32x4.extract_lane(sums, 2) + f32x4.extract_lane(sums, 3));
    for (; i < seen; i++) {
      const at = <usize>i << 2;
      const power = f32x4.extract_lane(exp(v128.load32_splat(x + at), tops), 0);
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
