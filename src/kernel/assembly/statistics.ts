/** Means and variances of channels, for oneDNN, whose own are sums of hundreds of thousands of floats in single precision. */

/** Pixels whose sum is made in single precision. */
const run: i32 = 64;

// @ts-ignore: decorator
@inline
function term(x: v128, mean: v128, square: bool): v128 {
  if (!square) return x;
  const apart = f32x4.sub(x, mean);
  return f32x4.mul(apart, apart);
}

/**
 * Adds to `sums`, doubles, for each channel the sum over all samples and pixels of x, or of (x − mean)² if `squares`. The elements
 * are in the order [samples, blocks, pixels, width]: a channel is one of the `width` elements of one of the blocks.
 */
// @ts-ignore: decorator
@inline
function addUp(
  x: usize,
  samples: i32,
  blocks: i32,
  pixels: i32,
  width: i32,
  squares: bool,
  mean: usize,
  sums: usize,
): void {
  const stride = <usize>width << 2;
  for (let s = 0; s < samples; s++)
    for (let b = 0; b < blocks; b++) {
      const image = x + <usize>(s * blocks + b) * <usize>pixels * stride;
      for (let p = 0; p < pixels; p += run) {
        const first = image + <usize>p * stride;
        const end = first + <usize>min(run, pixels - p) * stride;
        let c = 0;
        for (; c + 4 <= width; c += 4) {
          const channel = <usize>(b * width + c);
          const shift = squares ? v128.load(mean + (channel << 2)) : f32x4.splat(0);
          // Two sums, so that one addition need not wait for the other.
          let even = f32x4.splat(0);
          let odd = f32x4.splat(0);
          let at = first + (<usize>c << 2);
          for (; at + stride < end; at += 2 * stride) {
            even = f32x4.add(even, term(v128.load(at), shift, squares));
            odd = f32x4.add(odd, term(v128.load(at + stride), shift, squares));
          }
          if (at < end) even = f32x4.add(even, term(v128.load(at), shift, squares));
          const partial = f32x4.add(even, odd);
          const to = sums + (channel << 3);
          v128.store(to, f64x2.add(v128.load(to), f64x2.promote_low_f32x4(partial)));
          const high = v128.shuffle<i32>(partial, partial, 2, 3, 2, 3);
          v128.store(to, f64x2.add(v128.load(to, 16), f64x2.promote_low_f32x4(high)), 16);
        }
        for (; c < width; c++) {
          const channel = <usize>(b * width + c);
          const shift: f32 = squares ? load<f32>(mean + (channel << 2)) : 0;
          let partial: f32 = 0;
          for (let at = first + (<usize>c << 2); at < end; at += stride) {
            const apart = load<f32>(at) - shift;
            partial += squares ? apart * apart : apart;
          }
          const to = sums + (channel << 3);
          store<f64>(to, load<f64>(to) + <f64>partial);
        }
      }
    }
}

function clear(sums: usize, channels: i32): void {
  memory.fill(sums, 0, <usize>channels << 3);
}

function divide(sums: usize, channels: i32, by: i32, to: usize): void {
  for (let c = 0; c < channels; c++)
    store<f32>(to + (<usize>c << 2), <f32>(load<f64>(sums + (<usize>c << 3)) / <f64>by));
}

/** Mean and variance of each channel; `sums` has room for a double of each. */
export function channelStatistics(
  x: usize,
  samples: i32,
  blocks: i32,
  pixels: i32,
  width: i32,
  sums: usize,
  mean: usize,
  variance: usize,
): void {
  const channels = blocks * width;
  clear(sums, channels);
  addUp(x, samples, blocks, pixels, width, false, mean, sums);
  divide(sums, channels, samples * pixels, mean);
  clear(sums, channels);
  addUp(x, samples, blocks, pixels, width, true, mean, sums);
  divide(sums, channels, samples * pixels, variance);
}
