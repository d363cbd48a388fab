import { z } from 'zod';
import { method } from '../method.ts';

/** A round of averaging, then each replica goes as far along its tangent kernel as its neighbourhood's samples allow. */
export const ntkDfl = method({
  name: 'ntk-dfl',
  aliases: ['ntk'],
  title: 'NTK-DFL',
  summary: "an average, then a long step along the neural tangent kernel of the replica's and its neighbours' batches",
  paper:
    'Thompson, Yue, Wong, Dai, NTK-DFL: enhancing decentralized federated learning in heterogeneous settings via neural tangent kernel, 2024',
  settings: {
    candidates: z
      .array(z.int().min(1))
      .min(1)
      .default([25, 50, 100])
      .describe('numbers of steps along the kernel; the one with the least loss is kept'),
  },
  needs: [],
  step: ({ candidates }) => `
    x = W(x)
    x = evolve(x, ${candidates.join(', ')})`,
});
