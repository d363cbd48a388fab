import { expect, it } from 'vitest';
import { faultsSchema } from '../network/faults/settings.ts';
import { type Method, planOf } from './method.ts';
import { findMethod } from './methods.ts';
import { intolerance } from './tolerance.ts';

const churn = faultsSchema.parse({ churn: { kind: 'list', away: [{ replica: 0, from: 2, to: 4 }] } });

it('who was away cannot know what the first step set up, nor what all decide by', () => {
  expect(intolerance(planOf(findMethod('dispfl')), churn)).toMatch(/sets mask in the first step/);
  const counted = {
    ...findMethod('dpsgd'),
    settings: {},
    numbers: { since: 0 },
    step: () => 'x = x - eta*grad(x); since = since + 1; if since >= 2 { x = W(x); since = 0 }',
  } as Method;
  expect(intolerance(planOf(counted), churn)).toMatch(/decides by numbers/);
  expect(intolerance(planOf(findMethod('dpsgd')), churn)).toBe(undefined);
});
