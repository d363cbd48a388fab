import { z } from 'zod';
import { Random } from '../../base/random.ts';
import { countIn, kind, neighbourCount, type Round } from '../kind.ts';
import { randomRegularRound, regularCount } from './random.ts';

/** Every replica sends to k others of its own choice; how many it hears is left to chance. */
function localRound(n: number, k: number, random: Random): Round {
  const sources = Array.from({ length: n }, (): number[] => []);
  for (let i = 0; i < n; i++) {
    const chosen = new Set<number>();
    while (chosen.size < k) {
      const other = random.below(n - 1);
      chosen.add(other < i ? other : other + 1);
    }
    for (const target of chosen) sources[target]!.push(i);
  }
  return { sources };
}

function epidemicCount(n: number, { k, variant }: { k?: number | undefined; variant: 'oracle' | 'local' }): number {
  return variant === 'local' ? countIn('epidemic', n, k, 1, 4) : regularCount('epidemic', n, k);
}

/** de Vos et al., "Epidemic learning: boosting decentralized learning with randomized communication", 2023. */
export const epidemic = kind({
  name: 'epidemic',
  aliases: ['el', 'el-oracle', 'epidemic-learning'],
  summary:
    'drawn anew every step: a random k-regular topology (oracle), or each sends to k others it picks itself (local)',
  settings: {
    k: neighbourCount,
    variant: z.enum(['oracle', 'local']).default('oracle').describe('local is row-stochastic only'),
  },
  directed: ({ variant }) => variant === 'local',
  weights: 'uniform',
  k: epidemicCount,
  build(n, settings, seed) {
    const k = epidemicCount(n, settings);
    const draw = settings.variant === 'local' ? localRound : randomRegularRound;
    return {
      period: Number.POSITIVE_INFINITY,
      exchangeable: true,
      round: (step) => draw(n, k, new Random(seed, 'topology', 0, step)),
    };
  },
});
