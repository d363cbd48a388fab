/**
 * Runs a mixing program (see ../program.ts) on one block of columns.
 *
 * Which instructions there are, and in which order each adds, is what makes the bits of a result; how the columns are cut into
 * blocks and how many rows are walked together is not. There is no fused multiply-add: its rounding differs between machines.
 */

const PAIR: i32 = 1;
const QUAD: i32 = 2;
const OCT: i32 = 3;
const AVERAGE: i32 = 4;
const WEIGHTED: i32 = 5;
const REPEAT: i32 = 6;
const DIFFERENCE: i32 = 7;

/** Bytes of a row after which the next row of a group is visited: long enough for the prefetcher, short enough for the L1 cache. */
const STRIP: usize = 512;

/** Rows written together where they are all the same. */
const REPEATED: i32 = 10;

// Where operands are found; set once a call. Negative operands are sums of blocks in scratch memory.
let input: usize = 0;
let inputStride: usize = 0;
let scratch: usize = 0;
let scratchStride: usize = 0;

// @ts-ignore: decorator
@inline
function operand(program: usize): usize {
  const index = load<i32>(program);
  return index >= 0 ? input + <usize>index * inputStride : scratch + <usize>~index * scratchStride;
}

/** sum/count as sum·high + sum·low with high + low = 1/count to 48 bits: one factor alone would let parameters drift by 3e-8 a step. */
// @ts-ignore: decorator
@inline
function shared(sum: v128, high: v128, low: v128): v128 {
  return f32x4.add(f32x4.mul(sum, high), f32x4.mul(sum, low));
}

function pair(a: usize, b: usize, out: usize, bytes: usize): void {
  for (let i: usize = 0; i < bytes; i += 32) {
    v128.store(out + i, f32x4.add(v128.load(a + i), v128.load(b + i)));
    v128.store(out + i, f32x4.add(v128.load(a + i, 16), v128.load(b + i, 16)), 16);
  }
}

function quad(a: usize, b: usize, c: usize, d: usize, out: usize, bytes: usize): void {
  for (let i: usize = 0; i < bytes; i += 64) {
    const y = out + i;
    v128.store(y, f32x4.add(f32x4.add(v128.load(a + i), v128.load(b + i)), f32x4.add(v128.load(c + i), v128.load(d + i))));
    v128.store(y, f32x4.add(f32x4.add(v128.load(a + i, 16), v128.load(b + i, 16)), f32x4.add(v128.load(c + i, 16), v128.load(d + i, 16))), 16);
    v128.store(y, f32x4.add(f32x4.add(v128.load(a + i, 32), v128.load(b + i, 32)), f32x4.add(v128.load(c + i, 32), v128.load(d + i, 32))), 32);
    v128.store(y, f32x4.add(f32x4.add(v128.load(a + i, 48), v128.load(b + i, 48)), f32x4.add(v128.load(c + i, 48), v128.load(d + i, 48))), 48);
  }
}

function oct(a: usize, stride: usize, out: usize, bytes: usize): void {
  const b = a + stride;
  const c = b + stride;
  const d = c + stride;
  const e = d + stride;
  const f = e + stride;
  const g = f + stride;
  const h = g + stride;
  for (let i: usize = 0; i < bytes; i += 64) {
    const y = out + i;
    v128.store(y, f32x4.add(f32x4.add(f32x4.add(v128.load(a + i), v128.load(b + i)), f32x4.add(v128.load(c + i), v128.load(d + i))), f32x4.add(f32x4.add(v128.load(e + i), v128.load(f + i)), f32x4.add(v128.load(g + i), v128.load(h + i)))));
    v128.store(y, f32x4.add(f32x4.add(f32x4.add(v128.load(a + i, 16), v128.load(b + i, 16)), f32x4.add(v128.load(c + i, 16), v128.load(d + i, 16))), f32x4.add(f32x4.add(v128.load(e + i, 16), v128.load(f + i, 16)), f32x4.add(v128.load(g + i, 16), v128.load(h + i, 16)))), 16);
    v128.store(y, f32x4.add(f32x4.add(f32x4.add(v128.load(a + i, 32), v128.load(b + i, 32)), f32x4.add(v128.load(c + i, 32), v128.load(d + i, 32))), f32x4.add(f32x4.add(v128.load(e + i, 32), v128.load(f + i, 32)), f32x4.add(v128.load(g + i, 32), v128.load(h + i, 32)))), 32);
    v128.store(y, f32x4.add(f32x4.add(f32x4.add(v128.load(a + i, 48), v128.load(b + i, 48)), f32x4.add(v128.load(c + i, 48), v128.load(d + i, 48))), f32x4.add(f32x4.add(v128.load(e + i, 48), v128.load(f + i, 48)), f32x4.add(v128.load(g + i, 48), v128.load(h + i, 48)))), 48);
  }
}

/** A ring's rows. */
function average3(table: usize, rows: i32, out: usize, outStride: usize, bytes: usize, high: v128, low: v128): void {
  const a = load<usize>(table);
  const b = load<usize>(table, 4);
  const c = load<usize>(table, 8);
  for (let strip: usize = 0; strip < bytes; strip += STRIP) {
    const end = min(strip + STRIP, bytes);
    for (let row = 0; row < rows; row++) {
      const shift = <usize>row * inputStride;
      const to = out + <usize>row * outStride;
      for (let i = strip; i < end; i += 64) {
        const x = shift + i;
        const y = to + i;
        const p = a + x;
        let s0 = v128.load(p);
        let s1 = v128.load(p, 16);
        let s2 = v128.load(p, 32);
        let s3 = v128.load(p, 48);
        const bx = b + x;
        s0 = f32x4.add(s0, v128.load(bx));
        s1 = f32x4.add(s1, v128.load(bx, 16));
        s2 = f32x4.add(s2, v128.load(bx, 32));
        s3 = f32x4.add(s3, v128.load(bx, 48));
        const cx = c + x;
        s0 = f32x4.add(s0, v128.load(cx));
        s1 = f32x4.add(s1, v128.load(cx, 16));
        s2 = f32x4.add(s2, v128.load(cx, 32));
        s3 = f32x4.add(s3, v128.load(cx, 48));
        v128.store(y, shared(s0, high, low));
        v128.store(y, shared(s1, high, low), 16);
        v128.store(y, shared(s2, high, low), 32);
        v128.store(y, shared(s3, high, low), 48);
      }
    }
  }
}

/** A torus's rows. */
function average5(table: usize, rows: i32, out: usize, outStride: usize, bytes: usize, high: v128, low: v128): void {
  const a = load<usize>(table);
  const b = load<usize>(table, 4);
  const c = load<usize>(table, 8);
  const d = load<usize>(table, 12);
  const e = load<usize>(table, 16);
  for (let strip: usize = 0; strip < bytes; strip += STRIP) {
    const end = min(strip + STRIP, bytes);
    for (let row = 0; row < rows; row++) {
      const shift = <usize>row * inputStride;
      const to = out + <usize>row * outStride;
      for (let i = strip; i < end; i += 64) {
        const x = shift + i;
        const y = to + i;
        const p = a + x;
        let s0 = v128.load(p);
        let s1 = v128.load(p, 16);
        let s2 = v128.load(p, 32);
        let s3 = v128.load(p, 48);
        const bx = b + x;
        s0 = f32x4.add(s0, v128.load(bx));
        s1 = f32x4.add(s1, v128.load(bx, 16));
        s2 = f32x4.add(s2, v128.load(bx, 32));
        s3 = f32x4.add(s3, v128.load(bx, 48));
        const cx = c + x;
        s0 = f32x4.add(s0, v128.load(cx));
        s1 = f32x4.add(s1, v128.load(cx, 16));
        s2 = f32x4.add(s2, v128.load(cx, 32));
        s3 = f32x4.add(s3, v128.load(cx, 48));
        const dx = d + x;
        s0 = f32x4.add(s0, v128.load(dx));
        s1 = f32x4.add(s1, v128.load(dx, 16));
        s2 = f32x4.add(s2, v128.load(dx, 32));
        s3 = f32x4.add(s3, v128.load(dx, 48));
        const ex = e + x;
        s0 = f32x4.add(s0, v128.load(ex));
        s1 = f32x4.add(s1, v128.load(ex, 16));
        s2 = f32x4.add(s2, v128.load(ex, 32));
        s3 = f32x4.add(s3, v128.load(ex, 48));
        v128.store(y, shared(s0, high, low));
        v128.store(y, shared(s1, high, low), 16);
        v128.store(y, shared(s2, high, low), 32);
        v128.store(y, shared(s3, high, low), 48);
      }
    }
  }
}

function average(table: usize, count: i32, rows: i32, out: usize, outStride: usize, bytes: usize, high: v128, low: v128): void {
  const tableEnd = table + (<usize>count << 2);
  for (let strip: usize = 0; strip < bytes; strip += STRIP) {
    const end = min(strip + STRIP, bytes);
    for (let row = 0; row < rows; row++) {
      const shift = <usize>row * inputStride;
      const to = out + <usize>row * outStride;
      for (let i = strip; i < end; i += 64) {
        const x = shift + i;
        let p = load<usize>(table) + x;
        let s0 = v128.load(p);
        let s1 = v128.load(p, 16);
        let s2 = v128.load(p, 32);
        let s3 = v128.load(p, 48);
        for (let j = table + 4; j < tableEnd; j += 4) {
          p = load<usize>(j) + x;
          s0 = f32x4.add(s0, v128.load(p));
          s1 = f32x4.add(s1, v128.load(p, 16));
          s2 = f32x4.add(s2, v128.load(p, 32));
          s3 = f32x4.add(s3, v128.load(p, 48));
        }
        const y = to + i;
        v128.store(y, shared(s0, high, low));
        v128.store(y, shared(s1, high, low), 16);
        v128.store(y, shared(s2, high, low), 32);
        v128.store(y, shared(s3, high, low), 48);
      }
    }
  }
}

/** `table` holds (address, weight) pairs. */
function weighted(table: usize, count: i32, rows: i32, out: usize, outStride: usize, bytes: usize): void {
  const tableEnd = table + (<usize>count << 3);
  for (let strip: usize = 0; strip < bytes; strip += STRIP) {
    const end = min(strip + STRIP, bytes);
    for (let row = 0; row < rows; row++) {
      const shift = <usize>row * inputStride;
      const to = out + <usize>row * outStride;
      for (let i = strip; i < end; i += 64) {
        const x = shift + i;
        let p = load<usize>(table) + x;
        let w = v128.load32_splat(table, 4);
        let s0 = f32x4.mul(w, v128.load(p));
        let s1 = f32x4.mul(w, v128.load(p, 16));
        let s2 = f32x4.mul(w, v128.load(p, 32));
        let s3 = f32x4.mul(w, v128.load(p, 48));
        for (let j = table + 8; j < tableEnd; j += 8) {
          p = load<usize>(j) + x;
          w = v128.load32_splat(j, 4);
          s0 = f32x4.add(s0, f32x4.mul(w, v128.load(p)));
          s1 = f32x4.add(s1, f32x4.mul(w, v128.load(p, 16)));
          s2 = f32x4.add(s2, f32x4.mul(w, v128.load(p, 32)));
          s3 = f32x4.add(s3, f32x4.mul(w, v128.load(p, 48)));
        }
        const y = to + i;
        v128.store(y, s0);
        v128.store(y, s1, 16);
        v128.store(y, s2, 32);
        v128.store(y, s3, 48);
      }
    }
  }
}

/** Σ w (x_j − x_i): what one replica gains its neighbour loses, to the last bit, if the weights are symmetric. */
function difference(own: usize, table: usize, count: i32, out: usize, bytes: usize): void {
  const tableEnd = table + (<usize>count << 3);
  for (let i: usize = 0; i < bytes; i += 32) {
    const a = v128.load(own + i);
    const b = v128.load(own + i, 16);
    let s0 = f32x4.splat(0);
    let s1 = f32x4.splat(0);
    for (let j = table; j < tableEnd; j += 8) {
      const p = load<usize>(j) + i;
      const w = v128.load32_splat(j, 4);
      s0 = f32x4.add(s0, f32x4.mul(w, f32x4.sub(v128.load(p), a)));
      s1 = f32x4.add(s1, f32x4.mul(w, f32x4.sub(v128.load(p, 16), b)));
    }
    v128.store(out + i, s0);
    v128.store(out + i, s1, 16);
  }
}

function repeat(out: usize, outStride: usize, rows: i32, from: usize, bytes: usize): void {
  for (let strip: usize = 0; strip < bytes; strip += STRIP) {
    const length = min(STRIP, bytes - strip);
    for (let row = 0; row < rows; row++) copy(out + <usize>row * outStride + strip, from + strip, length);
  }
}

/** Bytes must be a multiple of 64; `table` has room for two words an operand of the longest instruction. */
export function mix(
  program: usize,
  programEnd: usize,
  from: usize,
  fromStride: usize,
  output: usize,
  outputStride: usize,
  bytes: usize,
  nodes: usize,
  nodeStride: usize,
  table: usize,
): void {
  input = from;
  inputStride = fromStride;
  scratch = nodes;
  scratchStride = nodeStride;
  let previous = output;
  while (program < programEnd) {
    const instruction = load<i32>(program);
    const index = <usize>load<i32>(program, 4);
    program += 8;
    if (instruction == PAIR) {
      pair(operand(program), operand(program + 4), nodes + index * nodeStride, bytes);
      program += 8;
    } else if (instruction == QUAD) {
      quad(operand(program), operand(program + 4), operand(program + 8), operand(program + 12), nodes + index * nodeStride, bytes);
      program += 16;
    } else if (instruction == OCT) {
      oct(operand(program), fromStride, nodes + index * nodeStride, bytes);
      program += 4;
    } else if (instruction == AVERAGE) {
      const rows = load<i32>(program);
      const count = load<i32>(program, 4);
      const high = v128.load32_splat(program, 8);
      const low = v128.load32_splat(program, 12);
      const out = output + index * outputStride;
      program += 16;
      for (let j = 0; j < count; j++) {
        store<usize>(table + (<usize>j << 2), operand(program));
        program += 4;
      }
      if (count == 3) average3(table, rows, out, outputStride, bytes, high, low);
      else if (count == 5) average5(table, rows, out, outputStride, bytes, high, low);
      else average(table, count, rows, out, outputStride, bytes, high, low);
      previous = out;
    } else if (instruction == WEIGHTED) {
      const rows = load<i32>(program);
      const count = load<i32>(program, 4);
      const out = output + index * outputStride;
      program += 8;
      for (let j = 0; j < count; j++) {
        store<usize>(table + (<usize>j << 3), operand(program));
        store<i32>(table + (<usize>j << 3), load<i32>(program, 4), 4);
        program += 8;
      }
      weighted(table, count, rows, out, outputStride, bytes);
      previous = out;
    } else if (instruction == DIFFERENCE) {
      const own = operand(program);
      const count = load<i32>(program, 4);
      program += 8;
      for (let j = 0; j < count; j++) {
        store<usize>(table + (<usize>j << 3), operand(program));
        store<i32>(table + (<usize>j << 3), load<i32>(program, 4), 4);
        program += 8;
      }
      difference(own, table, count, output + index * outputStride, bytes);
    } else if (instruction == REPEAT) {
      const rows = load<i32>(program);
      program += 4;
      for (let row = 0; row < rows; row += REPEATED)
        repeat(output + (index + row) * outputStride, outputStride, min(REPEATED, rows - row), previous, bytes);
    } else unreachable();
  }
}

/** Vector by vector: memory.copy starts slowly on short rows. */
export function copy(out: usize, from: usize, bytes: usize): void {
  for (let i: usize = 0; i < bytes; i += 64) {
    v128.store(out + i, v128.load(from + i));
    v128.store(out + i, v128.load(from + i, 16), 16);
    v128.store(out + i, v128.load(from + i, 32), 32);
    v128.store(out + i, v128.load(from + i, 48), 48);
  }
}
