import { z } from 'zod';
import { method } from '../method.ts';
import { positive } from '../settings.ts';
import { goOn } from './periodic.ts';

/** Averages between two measurements of harm: each takes one more gradient. */
const measured = 4;

/**
 * a ← the mean of all replicas, from what each has moved since the last one, rounded to a few bits; so is the mean of that, before it goes back to all. What
 * rounding leaves, r of a replica and b of the mean, is added the next time, so that nothing is lost.
 */
const rounding = 's = x - c + r; u = rounded(s); r = s - u; v = mean(u) + b; w = rounded(v); b = v - w; a = c + w';

/**
 * q as the tether measures it, from gradients h that are then stepped with: how much the mean gradient would have differed from that of centralized training on the
 * same batches, relative to it. For noise that momentum adds up over the steps q rises at least as fast as the period, so that its root settles.
 */
export const harm = `
      g = grad(x)
      h = again(a)
      d = g - h
      error = 0.7*error + centre(d, 64)
      level = 0.7*level + centre(h, 64)
      q = sqrt(max(error, 0)/max(level, 1e-30))`;

export const leash = method({
  name: 'leash',
  title: 'Leash',
  summary: 'averages every few steps, as seldom as the measured harm of disagreement allows, and sends few bits',
  paper: 'this project, docs/study.md',
  settings: {
    target: positive(0.75).describe(
      'error of the mean gradient by disagreement, relative to that gradient, that is held',
    ),
    bits: z
      .int()
      .min(2)
      .max(32)
      .default(4)
      .describe('bits per number of what is averaged, with what rounding leaves added the next time; 32: as it is'),
    fixed: z.int().min(0).default(0).describe('average every so many steps instead; 0: as seldom as harm allows'),
    commonMomentum: z.boolean().default(true).describe('go on with the mean momentum after an average'),
  },
  rows: { c: 'x', r: 'zero', b: 'zero' },
  numbers: { since: 0, rates: 0, length: 1, wait: 0, error: 0, level: 0, q: Number.NaN },
  signals: { harm: 'q', period: 'length' },
  needs: [],
  step: ({ bits, fixed, commonMomentum }) => {
    const goOnFrom = commonMomentum ? goOn('a') : 'x = a; c = a';
    const local = 'g = grad(x); x = x - eta*T(g)';
    const controlled = `
      if wait >= 1 {
        ${goOnFrom}
        ${local}
        wait = wait - 1
      } else {${harm}
        length = max(1, min(steps/20, length*min(1.4, max(1/2, sqrt(target/max(q, 1e-6))))))
        ${goOnFrom}
        x = x - eta*T(h)
        wait = ${measured - 1}
      }`;
    return `
    if since + 1/2 >= ${fixed > 0 ? 'fixed' : 'length'} {
      ${bits < 32 ? rounding : 'a = mean(x)'}
      ${fixed > 0 ? `${goOnFrom}; ${local}; length = fixed` : controlled}
      since = 1; rates = eta
    } else {
      ${local}
      since = since + 1; rates = rates + eta
    }
    last { x = mean(x) }`;
  },
});
