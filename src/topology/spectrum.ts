import { EigenvalueDecomposition, Matrix } from 'ml-matrix';
import { Random } from '../base/random.ts';

/** out ← A x on vectors that sum to 0; what is left of 1 in the result is projected out. */
export type Operator = (x: Float64Array, out: Float64Array) => void;

function dot(x: Float64Array, y: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += x[i]! * y[i]!;
  return sum;
}

/** x ← x + a·y */
function addScaled(x: Float64Array, a: number, y: Float64Array): void {
  for (let i = 0; i < x.length; i++) x[i]! += a * y[i]!;
}

/** Removes the average, then scales to length 1; returns the length before. */
export function centre(x: Float64Array): number {
  let sum = 0;
  for (const v of x) sum += v;
  for (let i = 0; i < x.length; i++) x[i]! -= sum / x.length;
  const length = Math.sqrt(dot(x, x));
  if (length > 0) for (let i = 0; i < x.length; i++) x[i]! /= length;
  return length;
}

/** A seeded unit vector that sums to 0. */
export function probe(n: number, index = 0): Float64Array {
  const random = new Random(0, 'topology', index);
  const x = Float64Array.from({ length: n }, () => random.normal());
  centre(x);
  return x;
}

/** How many eigenvalues of the symmetric tridiagonal matrix lie below x (Sturm sequence). */
function countBelow(diagonal: readonly number[], offDiagonal: readonly number[], x: number): number {
  let count = 0;
  let d = 1;
  for (let i = 0; i < diagonal.length; i++) {
    const off = i === 0 ? 0 : offDiagonal[i - 1]!;
    d = diagonal[i]! - x - (off * off) / d;
    if (d === 0) d = -Number.MIN_VALUE;
    if (d < 0) count++;
  }
  return count;
}

/** The eigenvalue with `index` smaller ones, by bisection. */
function tridiagonalEigenvalue(diagonal: readonly number[], offDiagonal: readonly number[], index: number): number {
  let radius = 0;
  for (const [i, d] of diagonal.entries())
    radius = Math.max(radius, Math.abs(d) + (offDiagonal[i] ?? 0) + (offDiagonal[i - 1] ?? 0));
  let [low, high] = [-radius, radius];
  for (let middle = 0; low < (middle = (low + high) / 2) && middle < high; )
    if (countBelow(diagonal, offDiagonal, middle) > index) high = middle;
    else low = middle;
  return (low + high) / 2;
}

/**
 * The extreme eigenvalues of a symmetric operator on the vectors that sum to 0: Lanczos without re-orthogonalisation, whose
 * ghosts repeat eigenvalues but never invent one. Runs until both ends stand still, relative to the larger one.
 */
export function symmetricExtremes(
  n: number,
  operator: Operator,
  tolerance = 1e-14,
): { least: number; greatest: number } {
  const diagonal: number[] = [];
  const offDiagonal: number[] = [];
  let previous: Float64Array = new Float64Array(n);
  let current = probe(n);
  let next: Float64Array = new Float64Array(n);
  let ends = { least: Number.NaN, greatest: Number.NaN };
  let largest = 0;
  const limit = 20 * n + 200;
  for (let m = 1, check = 8; ; m++) {
    operator(current, next);
    const alpha = dot(current, next);
    addScaled(next, -alpha, current);
    addScaled(next, -(offDiagonal[m - 2] ?? 0), previous);
    const beta = centre(next);
    diagonal.push(alpha);
    largest = Math.max(largest, Math.abs(alpha) + beta);
    const broken = beta < 1e-13 * largest;
    if (broken || m === check || m === limit) {
      const found = {
        least: tridiagonalEigenvalue(diagonal, offDiagonal, 0),
        greatest: tridiagonalEigenvalue(diagonal, offDiagonal, m - 1),
      };
      const moved = Math.abs(found.least - ends.least) + Math.abs(found.greatest - ends.greatest);
      const still = moved < tolerance * Math.max(Math.abs(found.least), Math.abs(found.greatest));
      ends = found;
      if (broken || still || m === limit) return ends;
      check = Math.ceil(1.5 * m);
    }
    offDiagonal.push(beta);
    [previous, current, next] = [current, next, previous];
  }
}

/** A x = b for a symmetric A without negative eigenvalues, by conjugate gradients to a hundredth; if A is singular, its kernel. */
function solve(operator: Operator, b: Float64Array): Float64Array {
  const x = new Float64Array(b.length);
  const [residual, direction, image] = [b.slice(), b.slice(), new Float64Array(b.length)];
  let square = dot(residual, residual);
  const enough = 1e-4 * square;
  for (let i = 0; i < b.length && square > enough; i++) {
    operator(direction, image);
    const curvature = dot(direction, image);
    if (curvature <= 1e-14 * dot(direction, direction)) return direction;
    addScaled(x, square / curvature, direction);
    addScaled(residual, -square / curvature, image);
    const next = dot(residual, residual);
    for (let j = 0; j < b.length; j++) direction[j] = residual[j]! + (next / square) * direction[j]!;
    square = next;
  }
  return x;
}

/** A unit vector nearer to the eigenvector of the least eigenvalue than `from` is: one step of inverse iteration. */
export function towardsLeast(operator: Operator, from: Float64Array): Float64Array {
  const next = solve(operator, from);
  centre(next);
  return next;
}

/**
 * Largest eigenvalue modulus of any operator on the vectors that sum to 0: Arnoldi, widened until it stands still. It starts from
 * a vector the operator has been applied to many times, in which little but the slowest directions is left: on 1008 replicas
 * with random one-way edges 81 basis vectors do instead of 620.
 */
export function spectralRadius(n: number, operator: Operator): number {
  let start = probe(n);
  for (let i = 0; i < 512; i++) {
    const next = new Float64Array(n);
    operator(start, next);
    // Nothing but rounding is left: an exact average.
    if (centre(next) < 1e-13) return 0;
    start = next;
  }
  const basis = [start];
  const columns: number[][] = [];
  let radius = Number.NaN;
  for (let m = 1, check = 16; ; m++) {
    const next = new Float64Array(n);
    operator(basis[m - 1]!, next);
    const column = new Array<number>(m).fill(0);
    // Twice is enough: the second pass removes what rounding left of the first.
    for (let pass = 0; pass < 2; pass++)
      basis.forEach((vector, i) => {
        const h = dot(vector, next);
        column[i]! += h;
        addScaled(next, -h, vector);
      });
    const below = centre(next);
    columns.push([...column, below]);
    const last = below < 1e-13 || m === n - 1;
    if (last || m === check) {
      const h = Matrix.zeros(m, m);
      columns.forEach((c, j) => {
        for (let i = 0; i < Math.min(m, c.length); i++) h.set(i, j, c[i]!);
      });
      const { realEigenvalues, imaginaryEigenvalues } = new EigenvalueDecomposition(h);
      const found = Math.max(...realEigenvalues.map((re, i) => Math.hypot(re, imaginaryEigenvalues[i]!)));
      if (last || Math.abs(found - radius) < 1e-12) return found;
      radius = found;
      check = Math.ceil(1.5 * m);
    }
    basis.push(next);
  }
}
