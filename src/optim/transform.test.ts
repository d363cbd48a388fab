import { describe, expect, it } from 'vitest';
import { f32 } from '../tensor/program.ts';
import { interpret } from '../tensor/reference.ts';
import { trace } from '../tensor/trace.ts';
import { optimizer, optimizerSchema } from './optimizer.ts';
import { adam, chain, clipByGlobalNorm, descend, momentum, type Transform, weightDecay } from './transform.ts';

/** Three steps from fixed gradients of a weight of three elements and a bias of one, learning rate .1, in float64. */
const gradients = [
  [0.5, -1, 2, 0.25],
  [-0.3, 0.8, -1.5, 1],
  [0.1, 0.2, 0.3, -0.4],
];

function run(transform: Transform): number[] {
  const kinds = ['weight', 'bias'] as const;
  const sizes = [3, 1];
  const program = trace((t) => {
    const row = (name: string) => kinds.map((kind, i) => t.input(`${name}/${kind}`, f32(sizes[i]!)));
    const parameters = row('params').map((tensor, i) => ({ tensor, kind: kinds[i]! }));
    const [learningRate, step] = [t.input('learningRate', f32()), t.input('step', f32())];
    const update = { updates: row('gradient'), parameters, slots: transform.slots.map(row), learningRate, step };
    const changed = transform.apply(update);
    const next = descend({ ...update, updates: changed.updates });
    const outputs = [
      ['params', next] as const,
      ...transform.slots.map((slot, i) => [slot, changed.slots[i]!] as const),
    ];
    return Object.fromEntries(
      outputs.flatMap(([name, tensors]) => kinds.map((kind, i) => [`${name}/${kind}`, tensors[i]!])),
    );
  });
  let values: Record<string, ArrayLike<number>> = { 'params/weight': [1, -2, 0.5], 'params/bias': [0.75] };
  for (const slot of transform.slots) values = { ...values, [`${slot}/weight`]: [0, 0, 0], [`${slot}/bias`]: [0] };
  gradients.forEach((gradient, step) => {
    const given = { 'gradient/weight': gradient.slice(0, 3), 'gradient/bias': gradient.slice(3) };
    values = interpret(program, { ...values, ...given, learningRate: [0.1], step: [step] });
  });
  return [...Array.from(values['params/weight']!), ...Array.from(values['params/bias']!)];
}

/** From PyTorch 1.13 in float64, where the bias is a group of its own without weight decay unless said. */
const expected: Record<string, readonly [Transform, readonly number[]]> = {
  sgd: [chain(), [0.97, -2.0, 0.42, 0.665]],
  momentum: [chain(momentum(0.9)), [0.9115, -1.901, 0.213, 0.53225]],
  'nesterov, weight decay': [
    chain(weightDecay(0.01), momentum(0.9, { nesterov: true })),
    [0.882721158191, -1.895570116382, 0.15919917877, 0.469025],
  ],
  adam: [adam(), [0.855453680616, -1.899613168661, 0.376594598863, 0.520955819442]],
  'adam, weight decay also of biases': [
    chain(weightDecay(0.01, []), adam()),
    [0.850866060309, -1.894909120574, 0.376066013329, 0.51989500089],
  ],
  adamw: [chain(adam(), weightDecay(0.01)), [0.852675729415, -1.893824879164, 0.375304930863, 0.520955819442]],
  'clipped sgd': [clipByGlobalNorm(0.4), [0.990034884822, -2.013291621692, 0.473457546859, 0.754823030892]],
  // By hand: the decay is not clipped.
  'clipped sgd, weight decay': [
    chain(clipByGlobalNorm(0.4), weightDecay(0.5)),
    [0.847955160567, -1.728931671399, 0.404025397165, 0.754823030892],
  ],
};

describe('three steps as PyTorch takes them', () => {
  it.each(Object.entries(expected))('%s', (_, [transform, wanted]) => {
    run(transform).forEach((value, i) => {
      expect(value).toBeCloseTo(wanted[i]!, 10);
    });
  });

  it.each([
    ['nesterov, weight decay', { kind: 'sgd', momentum: 0.9, nesterov: true, weightDecay: 0.01 }],
    ['sgd', { kind: 'sgd' }],
    ['clipped sgd', { kind: 'sgd', clipNorm: 0.4 }],
    ['clipped sgd, weight decay', { kind: 'sgd', clipNorm: 0.4, weightDecay: 0.5 }],
    ['adam, weight decay also of biases', { kind: 'adam', weightDecay: 0.01, decayExcept: [] }],
    ['adamw', { kind: 'adamw' }],
  ])('by settings: %s', (name, settings) => {
    expect(run(optimizer(optimizerSchema.parse(settings)))).toEqual(run(expected[name]![0]));
  });
});

it('lets no two transforms keep the same slot', () => {
  expect(() => chain(momentum(0.9), momentum(0.5))).toThrow('slot "momentum"');
});
