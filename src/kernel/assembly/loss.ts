/** The loss of a classifier, for oneDNN, whose own logarithm of a softmax is less precise and can be above 0. */

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
