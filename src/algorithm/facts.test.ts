import { expect, it } from 'vitest';
import { planFacts } from './facts.ts';
import { planOf } from './method.ts';
import { methods } from './methods.ts';

it.each(methods.map((method) => [method.name, method] as const))(
  '%s says of itself whether it sends compressed messages',
  (_, method) => expect(method.compresses ?? false).toBe(planFacts(planOf(method)).compresses),
);
