import { z } from 'zod';
import { method } from '../method.ts';
import { positive } from '../settings.ts';
import { goOn } from './periodic.ts';

/** How far the replicas are apart, and when to look again: Ξ² that grows as steps³, as momentum lets it at first, reaches the threshold after since/pull^⅓ of them. */
const look = `
      xi = sqrt(spread(x, 16))
      pull = (xi/max(theta, 1e-30))^2
      wait = since*(max(pull, 1e-6)^(-1/3) - 1)`;

/**
 * At an average each replica compares the gradients of one batch where it was and at the mean. q, the mean of these differences relative to the mean gradient, says by how much
 * the step of the mean model differed from that of centralized training on the same batches. It is held at its target by the distance at which replicas average:
 *
 *     d_i = ∇ℓ_i(x_i) − ∇ℓ_i(x̄)      q² = Σ ‖d̄‖² / Σ ‖ḡ‖²      Θ ← Θ √(target/q), by no more than × 2^¼ or / 4; Ξ/4 ≤ Θ, which grows only up to 2 Ξ
 *
 * The noise in d̄ is left in: taken out, what is left is below 0 every other time with few replicas, and the loop swings. Θ begins at 0, so that the first averages follow each other.
 */
export const tether = method({
  name: 'tether',
  title: 'Tether',
  summary: 'runs free and averages exactly with all when the measured harm of disagreement asks for it',
  paper: 'this project, docs/study.md',
  settings: {
    target: positive(1.5).describe(
      'error of the mean gradient by disagreement, relative to that gradient, that is held',
    ),
    commonMomentum: z.boolean().default(true).describe('go on with the mean momentum after an average'),
  },
  rows: { c: 'x' },
  numbers: {
    since: 0,
    rates: 0,
    wait: 1,
    xi: 0,
    pull: 0,
    theta: 0,
    error: 0,
    level: 0,
    q: Number.NaN,
    period: Number.NaN,
  },
  signals: { estimatedDistance: 'xi', threshold: 'theta', harm: 'q', period: 'period' },
  needs: [],
  step: ({ commonMomentum }) => `
    if min(since, max(pull, 20*since/steps)) >= 1 {
      a = mean(x)
      g = grad(x)
      h = again(a)
      d = g - h
      error = 0.7*error + centre(d, 64)
      level = 0.7*level + centre(h, 64)
      q = sqrt(max(error, 0)/max(level, 1e-30))
      theta = max(xi/4, min(max(theta, 2*xi), theta*min(1.19, max(1/4, sqrt(target/max(q, 1e-6))))))
      ${commonMomentum ? goOn('a') : 'x = a'}
      x = x - eta*T(h)
      period = since; since = 1; rates = eta
      if 3 >= since {${look}
      } else {
        pull = 0; wait = period/2
      }
    } else {
      g = grad(x); x = x - eta*T(g)
      since = since + 1; rates = rates + eta
      if 1 >= wait {${look}
      } else {
        wait = wait - 1
      }
    }
    last { x = mean(x) }`,
});

/** The tether without its measure of harm: its length is how far replicas are apart that average with one peer a step, early in the run. */
export const isoXi = method({
  name: 'iso-xi',
  title: 'Iso-Ξ',
  summary: 'averages exactly with all when the distance reaches what it was under gossip at the beginning of the run',
  paper: 'this project, docs/study.md',
  settings: {
    distance: z
      .number()
      .min(0)
      .default(0)
      .describe(
        'Ξ at which to average from the first step on; 0: measured while replicas gossip in the first quarter of the run',
      ),
    commonMomentum: z.boolean().default(true).describe('go on with the mean momentum after an average'),
  },
  rows: { c: 'x' },
  numbers: { since: 0, rates: 0, wait: 1, xi: 0, pull: 0, theta: 0, sum: 0, count: 0, period: Number.NaN },
  signals: { estimatedDistance: 'xi', threshold: 'theta', period: 'period' },
  needs: ['doubly'],
  step: ({ distance, commonMomentum }) => {
    const free = `
      if since >= 1 {
        if pull >= 1 { a = mean(x); ${commonMomentum ? goOn('a') : 'x = a'}; period = since; since = 0; rates = 0 }
      } else {
        x = mean(x); c = x
      }
      x = x - eta*T(grad(x))
      since = since + 1; rates = rates + eta
      ${distance > 0 ? 'theta = distance' : ''}
      if 1 >= wait {${look}
      } else {
        wait = wait - 1
      }`;
    const measured = `
      x = x - eta*T(grad(x))
      if 8*t >= steps { xi = sqrt(spread(x, 16)); sum = sum + xi^2; count = count + 1; theta = sqrt(sum/count) }
      x = W(x)`;
    return distance > 0 ? free : `if steps >= 4*t { ${measured} } else { ${free} }; last { x = mean(x) }`;
  },
});
