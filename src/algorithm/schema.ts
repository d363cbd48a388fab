import { z } from 'zod';

export { algorithmSchema } from './choose.ts';

const cap = z
  .int()
  .min(1)
  .default(20)
  .describe('most gossips per step; how many controlled steps ended there is shown with the results');
const least = z
  .int()
  .min(0)
  .max(1)
  .default(1)
  .describe(
    'gossips per averaging step even if Ξ is small enough; 0: none then, which takes one more measurement of Ξ',
  );
const phase = {
  from: z.number().min(0).default(0).describe('first controlled epoch'),
  to: z.number().gt(0).optional().describe('first epoch that is no longer controlled; the end by default'),
};

/**
 * Consensus control: gossip again until the replicas are close enough. Ξ is their distance after averaging, where the next gradients are
 * taken, and what it takes to know it is counted in the bytes. Kong et al., "Consensus control for decentralized deep learning", 2021.
 */
export const consensusSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('none').describe('one gossip per averaging step') }),
  z.strictObject({
    kind: z.literal('fixed').describe('gossip until Ξ is at most a fraction of the uncontrolled distance'),
    fraction: z.number().gt(0).max(1).default(0.25).describe('of Ξ_max'),
    maxDistance: z
      .number()
      .gt(0)
      .optional()
      .describe(
        'the uncontrolled distance Ξ_max after one gossip; by default the first epoch is left alone to measure it',
      ),
    cap,
    least,
    ...phase,
  }),
  z.strictObject({
    kind: z
      .literal('adaptive')
      .describe('gossip until Ξ is at most scale × learning rate × mean gradient norm, estimated in averaging steps'),
    scale: z.number().gt(0).default(1).describe('factor of the target'),
    beta: z
      .number()
      .min(0)
      .lt(1)
      .default(0.95)
      .describe('memory of the mean gradient norm from one averaging step to the next'),
    cap,
    least,
    ...phase,
  }),
  z.strictObject({
    kind: z
      .literal('critical')
      .describe(
        'gossip until Ξ is at most a fraction of the critical distance Γ, estimated in averaging steps from a second gradient of each batch',
      ),
    fraction: z.number().gt(0).default(1).describe('of Γ'),
    cap,
    least,
    ...phase,
  }),
]);
