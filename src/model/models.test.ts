import { describe, expect, it } from 'vitest';
import { parse } from '../base/schema.ts';
import { mean, variance } from '../base/statistics.ts';
import type { Task } from './context.ts';
import { densenet } from './densenet.ts';
import { initialise, rowSize } from './layout.ts';
import { buildModel, modelKinds, modelSchema, usualTask } from './models.ts';
import { evalStep, gradientStep } from './step.ts';

function build(settings: Record<string, unknown>, task?: Partial<Task>) {
  const parsed = parse(modelSchema, settings, 'model');
  return buildModel(parsed, { ...usualTask(parsed.kind), ...task });
}

const parametersOf = (settings: Record<string, unknown>, task?: Partial<Task>) =>
  evalStep(build(settings, task), 2).params;

describe('parameter counts', () => {
  it.each([
    [{ kind: 'mlp' }, {}, 784 * 128 + 128 + 128 * 10 + 10],
    [{ kind: 'cnn' }, {}, 16 * 25 + 16 + 32 * 16 * 25 + 32 + 1568 * 128 + 128 + 1290],
    [{ kind: 'resnet20' }, {}, 272_474],
    [{ kind: 'resnet20', shortcut: 'pad' }, {}, 269_722],
    [{ kind: 'resnet20', norm: 'group' }, {}, 272_474],
    [{ kind: 'resnet32', shortcut: 'pad' }, {}, 464_154],
    [{ kind: 'resnet44', shortcut: 'pad' }, {}, 658_586],
    [{ kind: 'resnet56', shortcut: 'pad' }, {}, 853_018],
    [{ kind: 'resnet18' }, {}, 11_689_512],
    [{ kind: 'resnet50' }, {}, 25_557_032],
    [{ kind: 'densenet100' }, {}, 4_068_490],
    [{ kind: 'densenet100', bottleneck: true }, {}, 769_162],
    [{ kind: 'lstm' }, { classes: 28_869 }, 28_949_319],
    [{ kind: 'lstm' }, { classes: 33_278 }, 31_819_578],
    [
      { kind: 'lstm', layers: 1, hidden: 8, embedding: 5, tied: false },
      { classes: 20 },
      20 * 5 + 32 * (5 + 8 + 2) + 20 * 9,
    ],
    [{ kind: 'gpt' }, {}, 809_856],
    [
      { kind: 'gpt', layers: 2, heads: 2, width: 64, context: 32 },
      {},
      2 * (12 * 64 * 64 + 13 * 64) + (65 + 32 + 2) * 64,
    ],
    [{ kind: 'vit' }, {}, 6 * (12 * 128 * 128 + 13 * 128) + 48 * 128 + (1 + 1 + 65 + 2) * 128 + 1290],
  ])('%o %o', (settings, task, count) => {
    expect(rowSize(parametersOf(settings, task))).toBe(count);
  });
});

describe('initial values', () => {
  const statistics = (settings: Record<string, unknown>, task?: Partial<Task>) => {
    const layout = parametersOf(settings, task);
    const row = initialise(layout, 1);
    return (wanted: string) => {
      const { offset, size } = layout.find(({ name }) => name === wanted)!;
      const values = [...row.subarray(offset, offset + size)];
      return { mean: mean(values), deviation: Math.sqrt(variance(values)), largest: Math.max(...values.map(Math.abs)) };
    };
  };

  it('of a ResNet follow He’s rule over the fan-out', () => {
    const of = statistics({ kind: 'resnet20' });
    expect(of('layer3.2.conv2.weight').deviation).toBeCloseTo(Math.sqrt(2 / (64 * 9)), 2);
    expect(of('layer3.2.bn1.weight')).toMatchObject({ mean: 1, deviation: 0 });
    expect(of('fc.weight').largest).toBeLessThan(1 / 8);
  });

  it('of an LSTM are those of the word language model', () => {
    const of = statistics({ kind: 'lstm', hidden: 64 }, { classes: 100 });
    expect(of('encoder.weight').largest).toBeCloseTo(0.1, 3);
    expect(of('encoder.weight').deviation).toBeCloseTo(0.1 / Math.sqrt(3), 3);
    expect(of('rnn.weight_hh_l2').largest).toBeCloseTo(1 / 8, 3);
    expect(of('decoder.bias').largest).toBe(0);
  });
});

describe('state', () => {
  it('of a ResNet are running statistics', () => {
    const { state } = evalStep(build({ kind: 'resnet20' }), 2);
    expect(state).toHaveLength(2 * 21);
    expect(new Set(initialise(state, 1))).toEqual(new Set([0, 1]));
  });

  it('of an LSTM is a hidden state for every sequence, carried in training and in evaluation', () => {
    const model = build({ kind: 'lstm', layers: 2, hidden: 8 }, { classes: 20 });
    expect(model.sequential).toBe(true);
    for (const step of [gradientStep(model, 3), evalStep(model, 3)]) {
      expect(step.state.map(({ name, shape }) => `${name} [${shape}]`)).toEqual([
        'rnn.h_l0 [3,8]',
        'rnn.c_l0 [3,8]',
        'rnn.h_l1 [3,8]',
        'rnn.c_l1 [3,8]',
      ]);
      expect(step.program.outputs.map(({ name }) => name)).toContain("state'/rnn.c_l1");
    }
  });
});

describe('mistakes', () => {
  it.each([
    [{ kind: 'resnet21' }, {}, /"resnet21" is not a known kind; did you mean "resnet20"/],
    [{ kind: 'resnet20', depth: 3 }, {}, /unknown setting "depth"/],
    [{ kind: 'resnet20' }, { shape: [784] }, /resnet20 needs images .* got samples of \[784\]/],
    [
      { kind: 'resnet50' },
      { shape: [3, 16, 16] },
      /resnet50 needs images .* at least 32×32, got samples of \[3,16,16\]/,
    ],
    [{ kind: 'densenet100' }, { shape: [3, 2, 2] }, /densenet100 needs images .* at least 4×4/],
    [{ kind: 'resnet20', norm: 'group', groups: 3 }, {}, /groups = 3 does not divide width = 16/],
    [{ kind: 'lstm' }, { shape: [3, 32, 32] }, /lstm needs text.*got \[3,32,32\]/],
    [{ kind: 'lstm', embedding: 5 }, {}, /model: embedding: must equal "hidden" when the decoder is tied/],
    [{ kind: 'gpt' }, { shape: [3, 32, 32] }, /gpt needs text.*got \[3,32,32\]/],
    [{ kind: 'gpt', heads: 3 }, {}, /model: width: must be a multiple of "heads"/],
    [{ kind: 'vit', patch: 5 }, {}, /patches of 5×5 do not divide images of 32×32/],
    [{ kind: 'densenet100', compression: 0 }, {}, /compression: must be a number above 0 and at most 1, got 0/],
  ])('%o %o', (settings, task, message) => {
    expect(() => build(settings, task)).toThrow(message);
  });

  it('a depth that DenseNet does not have', () => {
    const settings = { kind: 'x', depth: 101, growth: 12, bottleneck: true, compression: 0.5, dropout: 0 };
    expect(() => densenet(settings, usualTask('densenet100'))).toThrow(/depth must be 4 plus a multiple of 6, got 101/);
  });

  it('batch norm over a single value', () => {
    expect(() => gradientStep(build({ kind: 'resnet20' }, { shape: [3, 4, 4] }), 1)).toThrow(
      /layer3.0.bn1: batch norm needs more than one value per channel in training, got \[1,64,1,1\]/,
    );
  });
});

it('every kind can be built for its usual data', () => {
  // A file is named by its user.
  for (const kind of modelKinds.filter((each) => each !== 'onnx'))
    expect(evalStep(build({ kind }), 1).params.length, kind).toBeGreaterThan(0);
});
