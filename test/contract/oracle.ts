import type { Problem } from '../../src/algorithm/reference.ts';
import { n } from '../../src/contract/oracle.ts';
import { edgeSets } from '../../src/topology/edges.ts';
import { buildTopology } from '../../src/topology/topology.ts';

export * from '../../src/contract/oracle.ts';

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** The parent of i is ⌊(i−1)/2⌋. */
export const binaryTree = edgeSets(buildTopology({ kind: 'tree' }, n, 1), 'tree');
export const ringEdges = edgeSets(buildTopology({ kind: 'ring' }, n, 1), 'all');

type Direction = NonNullable<Problem['direction']>;

/** Heavy ball or Nesterov, as an optimizer of each replica. */
export function momentum(beta: number, nesterov = false): Direction {
  const { direction } = heavyBall(beta);
  return (i, g, x, t) => {
    const m = direction!(i, g, x, t);
    return nesterov ? g.map((v, j) => v + beta * m[j]!) : m;
  };
}

/** Heavy ball whose momentum a method may set. */
export function heavyBall(beta: number): Pick<Problem, 'direction' | 'remember'> {
  const slots = new Map<number, Float64Array>();
  return {
    direction(i, g) {
      const m = g.map((v, j) => beta * (slots.get(i)?.[j] ?? 0) + v);
      slots.set(i, m);
      return m;
    },
    remember: (i, given) => void slots.set(i, given.slice()),
  };
}

/** Adam with bias correction. */
export function adam(beta1: number, beta2: number, epsilon: number): Direction {
  const slots = new Map<number, readonly [Float64Array, Float64Array]>();
  return (i, g, _, t) => {
    const [m0, v0] = slots.get(i) ?? [new Float64Array(8), new Float64Array(8)];
    const m = g.map((v, j) => beta1 * m0[j]! + (1 - beta1) * v);
    const v = g.map((each, j) => beta2 * v0[j]! + (1 - beta2) * each * each);
    slots.set(i, [m, v]);
    return m.map((each, j) => each / (1 - beta1 ** (t + 1)) / (Math.sqrt(v[j]! / (1 - beta2 ** (t + 1))) + epsilon));
  };
}

/** The two largest, all signs, and 16 levels with u = ½, on whole rows. */
export const compressors = {
  identity: (_: number, v: Float64Array) => v,
  top2: (_: number, v: Float64Array) => {
    const order = [...v.keys()].sort((p, q) => Math.abs(v[q]!) - Math.abs(v[p]!) || p - q).slice(0, 2);
    return v.map((each, j) => (order.includes(j) ? each : 0));
  },
  sign: (_: number, v: Float64Array) => {
    const scale = sum([...v].map(Math.abs)) / v.length;
    return v.map((each) => (each < 0 ? -scale : scale));
  },
  qsgd16: (_: number, v: Float64Array) => {
    const norm = Math.hypot(...v);
    return v.map((each) =>
      norm === 0 ? 0 : (Math.sign(each) * norm * Math.floor((16 * Math.abs(each)) / norm + 0.5)) / 16,
    );
  },
};
