/**
 * How dense layers with one hidden layer of ReLU learn along their neural tangent kernel, in float64: the answers to a pool of samples follow
 * df/dt = −K(softmax f − Y)/N, and the parameters follow the answers by one backward pass.
 */

/** inputs → hidden → classes; weights by rows of outputs. */
export interface Layers {
  readonly w1: Float64Array;
  readonly b1: Float64Array;
  readonly w2: Float64Array;
  readonly b2: Float64Array;
}

/** Samples one after the other, and their classes. */
export interface Pool {
  readonly x: Float64Array;
  readonly labels: Int32Array;
}

/** What the layers answer: the hidden values after ReLU and the logits, sample by sample. */
export function answer(
  { w1, b1, w2, b2 }: Layers,
  { x, labels }: Pool,
): { hidden: Float64Array; logits: Float64Array } {
  const hidden = dense(x, w1, b1, labels.length).map((z) => Math.max(0, z));
  return { hidden, logits: dense(hidden, w2, b2, labels.length) };
}

/** Row a of x times row b of y, both of this length; four sums side by side, as one would wait for itself. */
function dot(x: Float64Array, a: number, y: Float64Array, b: number, length: number): number {
  const [from, to] = [a * length, b * length];
  const even = length - (length % 4);
  let [s0, s1, s2, s3] = [0, 0, 0, 0];
  for (let k = 0; k < even; k += 4) {
    s0 += x[from + k]! * y[to + k]!;
    s1 += x[from + k + 1]! * y[to + k + 1]!;
    s2 += x[from + k + 2]! * y[to + k + 2]!;
    s3 += x[from + k + 3]! * y[to + k + 3]!;
  }
  for (let k = even; k < length; k++) s0 += x[from + k]! * y[to + k]!;
  return s0 + s1 + (s2 + s3);
}

function dense(x: Float64Array, weight: Float64Array, bias: Float64Array, samples: number): Float64Array {
  const [inputs, outputs] = [x.length / samples, bias.length];
  const y = new Float64Array(samples * outputs);
  for (let a = 0; a < samples; a++)
    for (let o = 0; o < outputs; o++) {
      y[a * outputs + o] = bias[o]! + dot(weight, o, x, a, inputs);
    }
  return y;
}

/**
 * K_ab = (1/C) Σ_c J_ac·J_bc without any Jacobian: (x_a·x_b + 1) Σ_h ‖W2_h‖²/C over the units that are active for both, and h_a·h_b + 1.
 *
 * @param hidden the hidden values after ReLU
 */
export function kernelOf({ w2, b2 }: Layers, { x, labels }: Pool, hidden: Float64Array): Float64Array {
  const n = labels.length;
  const [inputs, units, classes] = [x.length / n, hidden.length / n, b2.length];
  const norm2 = Float64Array.from({ length: units }, (_, h) => {
    let sum = 0;
    for (let c = 0; c < classes; c++) sum += w2[c * units + h]! ** 2;
    return sum / classes;
  });
  const kernel = new Float64Array(n * n);
  for (let a = 0; a < n; a++)
    for (let b = 0; b <= a; b++) {
      let [shared, second] = [0, 1];
      for (let h = 0; h < units; h++) {
        const product = hidden[a * units + h]! * hidden[b * units + h]!;
        if (product > 0) shared += norm2[h]!;
        second += product;
      }
      kernel[a * n + b] = kernel[b * n + a] = (dot(x, a, x, b, inputs) + 1) * shared + second;
    }
  return kernel;
}

/** softmax f − Y, and the mean loss and accuracy of f. */
export function judge(logits: Float64Array, labels: Int32Array) {
  const classes = logits.length / labels.length;
  const residual = new Float64Array(logits.length);
  let [loss, correct] = [0, 0];
  for (const [a, label] of labels.entries()) {
    const own = logits.subarray(a * classes, (a + 1) * classes);
    const most = own.reduce((max, z) => Math.max(max, z));
    let total = 0;
    for (let c = 0; c < classes; c++) total += residual[a * classes + c] = Math.exp(own[c]! - most);
    for (let c = 0; c < classes; c++) residual[a * classes + c]! /= total;
    residual[a * classes + label]! -= 1;
    loss += Math.log(total) + most - own[label]!;
    if (own.indexOf(most) === label) correct += 1;
  }
  return { residual, loss: loss / labels.length, accuracy: correct / labels.length };
}

/** The answers at times 0, rate, 2·rate, …, by Runge and Kutta's fourth order. */
export function* flow(
  kernel: Float64Array,
  start: Float64Array,
  labels: Int32Array,
  rate: number,
): Generator<Float64Array, never> {
  const speed = (f: Float64Array) => {
    const { residual } = judge(f, labels);
    const [n, classes] = [labels.length, f.length / labels.length];
    const byClass = residual.map((_, at) => residual[(at % n) * classes + Math.floor(at / n)]!);
    return f.map((_, at) => -dot(kernel, Math.floor(at / classes), byClass, at % classes, n) / n);
  };
  const ahead = (f: Float64Array, k: Float64Array, by: number) => f.map((v, i) => v + by * k[i]!);
  for (let f = start; ; ) {
    yield f;
    const k1 = speed(f);
    const k2 = speed(ahead(f, k1, rate / 2));
    const k3 = speed(ahead(f, k2, rate / 2));
    const k4 = speed(ahead(f, k3, rate));
    f = f.map((v, i) => v + (rate / 6) * (k1[i]! + 2 * k2[i]! + 2 * k3[i]! + k4[i]!));
  }
}

/** Jᵀ R: one backward pass with R as the gradient of the logits. */
export function pulledBack(
  { w1, b1, w2, b2 }: Layers,
  { x, labels }: Pool,
  hidden: Float64Array,
  r: Float64Array,
): Layers {
  const [inputs, units, classes] = [x.length / labels.length, b1.length, b2.length];
  const d = [w1, b1, w2, b2].map(({ length }) => new Float64Array(length));
  const [d1, e1, d2, e2] = d as [Float64Array, Float64Array, Float64Array, Float64Array];
  for (let a = 0; a < labels.length; a++) {
    for (let c = 0; c < classes; c++) e2[c]! += r[a * classes + c]!;
    for (let h = 0; h < units; h++) {
      const active = hidden[a * units + h]!;
      if (active === 0) continue;
      let back = 0;
      for (let c = 0; c < classes; c++) {
        const given = r[a * classes + c]!;
        d2[c * units + h]! += given * active;
        back += given * w2[c * units + h]!;
      }
      e1[h]! += back;
      for (let k = 0; k < inputs; k++) d1[h * inputs + k]! += back * x[a * inputs + k]!;
    }
  }
  return { w1: d1, b1: e1, w2: d2, b2: e2 };
}

/** Where the layers come to, and what they were before: loss, accuracy and the norm of the loss's gradient on the pool. */
export interface Evolved {
  readonly layers: Layers;
  /** The number of steps that was taken, and the loss after it. */
  readonly tau: number;
  readonly reached: number;
  readonly loss: number;
  readonly accuracy: number;
  readonly gradientNorm: number;
}

/** x − (rate/N)·Jᵀ Σ_{s<τ} (softmax f_s − Y) for the τ of `taus` with the least loss on the pool; the first of those that are equal. */
export function evolve(layers: Layers, pool: Pool, rate: number, taus: readonly number[]): Evolved {
  const { labels } = pool;
  const { hidden, logits } = answer(layers, pool);
  const moved = (sum: Float64Array) => {
    const back = pulledBack(layers, pool, hidden, sum);
    const down = (name: keyof Layers) => layers[name].map((v, i) => v - (rate / labels.length) * back[name][i]!);
    return { w1: down('w1'), b1: down('b1'), w2: down('w2'), b2: down('b2') };
  };
  const { residual, loss, accuracy } = judge(logits, labels);
  const gradient = Object.values(pulledBack(layers, pool, hidden, residual)) as Float64Array[];
  const norm2 = gradient.reduce((sum, part) => part.reduce((all, v) => all + v * v, sum), 0);
  const sum = new Float64Array(logits.length);
  const [wanted, last] = [new Set(taus), Math.max(...taus)];
  let best: Pick<Evolved, 'layers' | 'tau' | 'reached'> | undefined;
  const answers = flow(kernelOf(layers, pool, hidden), logits, labels, rate);
  for (let tau = 1; tau <= last; tau++) {
    judge(answers.next().value, labels).residual.forEach((v, i) => {
      sum[i]! += v;
    });
    if (!wanted.has(tau)) continue;
    const candidate = moved(sum);
    const { loss: reached } = judge(answer(candidate, pool).logits, labels);
    if (best === undefined || reached < best.reached) best = { layers: candidate, tau, reached };
  }
  return { ...best!, loss, accuracy, gradientNorm: Math.sqrt(norm2) / labels.length };
}
