import { countIn, kind, neighbourCount, refuse } from '../kind.ts';

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

function dimensions(n: number): number {
  const d = Math.log2(n);
  if (!Number.isInteger(d))
    refuse(
      'hypercube',
      { n },
      'n must be a power of two',
      `use n = ${2 ** Math.floor(d)} or ${2 ** Math.ceil(d)}; "base" exists for every n`,
    );
  return d;
}

function hypercubeCount(n: number, { k: wished }: { k?: number | undefined }): number {
  const d = dimensions(n);
  if (wished !== undefined && wished > d)
    refuse('hypercube', { n, k: wished }, `k must be at most log2 n = ${d}`, 'leave it out for the static hypercube');
  return countIn('hypercube', n, wished, 1, d);
}

export const hypercube = kind({
  name: 'hypercube',
  aliases: ['cube', 'hyper-cube'],
  summary: 'replicas whose numbers differ in one bit; k < log2 n uses k bits per step, in turn',
  settings: { k: neighbourCount },
  directed: false,
  weights: 'uniform',
  k: hypercubeCount,
  build(n, settings) {
    const d = dimensions(n);
    const k = hypercubeCount(n, settings);
    const rounds = Array.from({ length: d / gcd(d, k) }, (_, t) => {
      const bits = Array.from({ length: k }, (_, m) => 1 << ((t * k + m) % d));
      const sources = Array.from({ length: n }, (_, i) => bits.map((bit) => i ^ bit).sort((a, b) => a - b));
      return { sources };
    });
    return { period: rounds.length, round: (step) => rounds[step % rounds.length]! };
  },
});
