/** Passes over tensors for what oneDNN has no primitive for. Addresses and counts of elements; lengths need not be multiples of 4. */

// @ts-ignore: decorator
@inline
function xorShift(h: v128, bits: i32): v128 {
  return v128.xor(h, i32x4.shr_u(h, bits));
}

/** See tensor/mask.ts: `factor` where an element is kept, else 0. `out` has room for a multiple of 4. */
export function dropoutMask(out: usize, count: i32, a: i32, b: i32, bound: i32, factor: f32): void {
  const as = i32x4.splat(a);
  const bs = i32x4.splat(b);
  const bounds = i32x4.splat(bound);
  const factors = f32x4.splat(factor);
  const one = i32x4.splat(1);
  const f0 = i32x4.splat(0x7feb352d);
  const f1 = i32x4.splat(<i32>0x846ca68b);
  let index = i32x4(0, 1, 2, 3);
  for (let i = 0; i < count; i += 4) {
    let h = i32x4.mul(xorShift(index, 16), f0);
    h = i32x4.mul(xorShift(h, 15), f1);
    const t = v128.or(xorShift(h, 16), one);
    const product = i32x4.mul(i32x4.add(t, as), v128.xor(t, bs));
    v128.store(out + (<usize>i << 2), v128.andnot(factors, i32x4.lt_s(product, bounds)));
    index = i32x4.add(index, i32x4.splat(4));
  }
}

/** y += x */
export function accumulate(y: usize, x: usize, count: i32): void {
  let i = 0;
  for (; i + 4 <= count; i += 4) {
    const at = <usize>i << 2;
    v128.store(y + at, f32x4.add(v128.load(y + at), v128.load(x + at)));
  }
  for (; i < count; i++) {
    const at = <usize>i << 2;
    store<f32>(y + at, load<f32>(y + at) + load<f32>(x + at));
  }
}

// @ts-ignore: decorator
@inline
export function sumOfLanes(counts: v128): i32 {
  return (
    i32x4.extract_lane(counts, 0) +
    i32x4.extract_lane(counts, 1) +
    i32x4.extract_lane(counts, 2) +
    i32x4.extract_lane(counts, 3)
  );
}

/** How many elements come before element `index` in descending order; equal ones in ascending order of their index. */
export function rankOf(x: usize, count: i32, index: i32): i32 {
  const value = load<f32>(x + (<usize>index << 2));
  const values = f32x4.splat(value);
  let counts = i32x4.splat(0);
  let i = 0;
  // True is −1.
  for (; i + 4 <= index; i += 4) counts = i32x4.sub(counts, f32x4.ge(v128.load(x + (<usize>i << 2)), values));
  let rank = 0;
  for (; i < index; i++) if (load<f32>(x + (<usize>i << 2)) >= value) rank++;
  for (; i + 4 <= count; i += 4) counts = i32x4.sub(counts, f32x4.gt(v128.load(x + (<usize>i << 2)), values));
  for (; i < count; i++) if (load<f32>(x + (<usize>i << 2)) > value) rank++;
  return rank + sumOfLanes(counts);
}

/** Of each row [input, forget, cell, output] of `width` each: doubles the third, so that tanh x = 2·sigmoid(2x) − 1 follows. */
export function doubleCells(gates: usize, rows: i32, width: i32): void {
  for (let r = 0; r < rows; r++) {
    const row = gates + ((<usize>(r * 4 + 2) * width) << 2);
    accumulate(row, row, width);
  }
}

/** From sigmoids of the gates: the third becomes its tanh, and cell = forget · before + input · candidate. */
export function lstmCell(gates: usize, before: usize, cells: usize, rows: i32, width: i32): void {
  const bytes = <usize>width << 2;
  const minusOne = f32x4.splat(-1);
  for (let r = 0; r < rows; r++) {
    const i = gates + <usize>r * 4 * bytes;
    const f = i + bytes;
    const g = f + bytes;
    const b = before + <usize>r * bytes;
    const c = cells + <usize>r * bytes;
    let j = 0;
    for (; j + 4 <= width; j += 4) {
      const at = <usize>j << 2;
      const s = v128.load(g + at);
      const candidate = f32x4.add(f32x4.add(s, s), minusOne);
      v128.store(g + at, candidate);
      v128.store(
        c + at,
        f32x4.add(
          f32x4.mul(v128.load(f + at), v128.load(b + at)),
          f32x4.mul(v128.load(i + at), candidate),
        ),
      );
    }
    for (; j < width; j++) {
      const at = <usize>j << 2;
      const candidate = load<f32>(g + at) * 2 - 1;
      store<f32>(g + at, candidate);
      store<f32>(c + at, load<f32>(f + at) * load<f32>(b + at) + load<f32>(i + at) * candidate);
    }
  }
}

/** y = output · tanh(cell) */
export function lstmOutput(gates: usize, tanhCells: usize, y: usize, rows: i32, width: i32): void {
  const bytes = <usize>width << 2;
  for (let r = 0; r < rows; r++) {
    const o = gates + (<usize>r * 4 + 3) * bytes;
    const t = tanhCells + <usize>r * bytes;
    const h = y + <usize>r * bytes;
    let j = 0;
    for (; j + 4 <= width; j += 4) {
      const at = <usize>j << 2;
      v128.store(h + at, f32x4.mul(v128.load(o + at), v128.load(t + at)));
    }
    for (; j < width; j++) {
      const at = <usize>j << 2;
      store<f32>(h + at, load<f32>(o + at) * load<f32>(t + at));
    }
  }
}

/**
 * One time step back: gradients by the gates before their activation, whose rows are `stride` elements apart, and dc by the cell before. dh
 * comes from the step after.
 */
export function lstmCellGrad(
  dy: usize,
  dh: usize,
  dc: usize,
  gates: usize,
  tanhCells: usize,
  before: usize,
  dgates: usize,
  rows: i32,
  width: i32,
  stride: i32,
): void {
  const bytes = <usize>width << 2;
  const one = f32x4.splat(1);
  for (let r = 0; r < rows; r++) {
    const wide = <usize>r * 4 * bytes;
    const narrow = <usize>r * bytes;
    let j = 0;
    for (; j + 4 <= width; j += 4) {
      const at = <usize>j << 2;
      const i = v128.load(gates + wide + at);
      const f = v128.load(gates + wide + at + bytes);
      const g = v128.load(gates + wide + at + 2 * bytes);
      const o = v128.load(gates + wide + at + 3 * bytes);
      const t = v128.load(tanhCells + narrow + at);
      const here = f32x4.add(v128.load(dh + narrow + at), v128.load(dy + narrow + at));
      const dcell = f32x4.add(
        v128.load(dc + narrow + at),
        f32x4.mul(f32x4.mul(here, o), f32x4.sub(one, f32x4.mul(t, t))),
      );
      const to = dgates + wide + at;
      v128.store(to, f32x4.mul(f32x4.mul(dcell, g), f32x4.mul(i, f32x4.sub(one, i))));
      v128.store(
        to + bytes,
        f32x4.mul(f32x4.mul(dcell, v128.load(before + narrow + at)), f32x4.mul(f, f32x4.sub(one, f))),
      );
      v128.store(to + 2 * bytes, f32x4.mul(f32x4.mul(dcell, i), f32x4.sub(one, f32x4.mul(g, g))));
      v128.store(to + 3 * bytes, f32x4.mul(f32x4.mul(here, t), f32x4.mul(o, f32x4.sub(one, o))));
      v128.store(dc + narrow + at, f32x4.mul(dcell, f));
    }
    for (; j < width; j++) {
      const at = <usize>j << 2;
      const i = load<f32>(gates + wide + at);
      const f = load<f32>(gates + wide + at + bytes);
      const g = load<f32>(gates + wide + at + 2 * bytes);
      const o = load<f32>(gates + wide + at + 3 * bytes);
      const t = load<f32>(tanhCells + narrow + at);
      const here = load<f32>(dh + narrow + at) + load<f32>(dy + narrow + at);
      const dcell = load<f32>(dc + narrow + at) + here * o * (1 - t * t);
      const to = dgates + wide + at;
      store<f32>(to, dcell * g * (i * (1 - i)));
      store<f32>(to + bytes, dcell * load<f32>(before + narrow + at) * (f * (1 - f)));
      store<f32>(to + 2 * bytes, dcell * i * (1 - g * g));
      store<f32>(to + 3 * bytes, here * t * (o * (1 - o)));
      store<f32>(dc + narrow + at, dcell * f);
    }
    dgates += <usize>(stride - 4 * width) << 2;
  }
}
