import { describe, expect, it } from 'vitest';
import { keptRows, stepOf } from './actions.ts';
import { factsOf, planFacts } from './facts.ts';
import { type Method, planOf } from './method.ts';
import { findMethod, methods } from './methods.ts';
import { matricesOf, Places, programsOf } from './places.ts';
import { trafficOf } from './traffic.ts';

const plan = (name: string, settings = {}) => planOf(methods.find((method) => method.name === name)!, settings);
const dpsgdLike = { ...methods.find(({ name }) => name === 'dpsgd')!, settings: {} };
const moment = { t: 0, steps: Number.POSITIVE_INFINITY, eta: 0.1, etaBefore: 0.1 };
const kinds = (name: string, settings = {}, when = {}, options = {}) =>
  stepOf(plan(name, settings), { ...moment, ...when }, options)
    .actions.map(({ do: kind }) => kind)
    .join(' ');

describe('actions of a step', () => {
  it('take gradient and optimizer together where one program does both', () => {
    expect(kinds('dpsgd')).toBe('adapt probe mix');
    expect(kinds('dpsgd', {}, {}, { signal: true, apart: true })).toBe('gradient signal update probe mix');
    expect(kinds('dpsgd', { order: 'combine-then-adapt' })).toBe('mix adapt probe');
    expect(kinds('centralized')).toBe('gradient updateTogether probe');
    expect(kinds('choco')).toBe('adapt probe send mix set');
    expect(kinds('sgp')).toBe('set gradient update mix mix set probe');
  });
  it('follow the conditions', () => {
    const at = (t: number) => kinds('dpsgd', { localSteps: 3 }, { t });
    expect([0, 1, 2, 3].map(at)).toEqual(['adapt probe', 'adapt probe', 'adapt probe mix', 'adapt probe']);
    expect(kinds('dpsgd', { finalMerge: true }, { steps: 1 })).toBe('adapt probe mix mean');
    expect(kinds('gossip-pga', { period: 2 }, { t: 1 })).toBe('adapt probe mean');
  });
  it('follow what is decided by numbers when the step begins', () => {
    const decided = (number: (name: string) => number) => kinds('local-sgd', { period: 4, growth: 2 }, { number });
    const stepAfter = (since: number, peak: number) => decided((name) => ({ since, peak })[name]!);
    expect(stepAfter(2, 0.1)).toBe('adapt setNumber setNumber probe');
    expect(stepAfter(3, 0.1)).toBe('adapt setNumber setNumber probe mean setNumber');
    // At half of the highest rate the period is four times as long.
    expect([stepAfter(14, 0.2), stepAfter(15, 0.2)].map((text) => text.includes('mean'))).toEqual([false, true]);
    expect(kinds('local-sgd', { after: [3] }, { t: 2 })).toBe('adapt probe mean');
    expect(kinds('local-sgd', { after: [3] }, { t: 3 })).toBe('adapt probe');
  });

  it('measure what is averaged to become the model, or else the model in the end', () => {
    expect(kinds('dsgt')).toMatch(/set probe mix$/);
    expect(kinds('qg-dsgdm')).toMatch(/set probe mix set set$/);
    expect(kinds('gut')).toMatch(/probe$/);
    expect(kinds('dpsgd', { order: 'adapt-while-communicating' })).toMatch(/probe$/);
  });
});

it('only numbers that all replicas share can decide', () => {
  const own = (step: string) =>
    planOf({ ...findMethod('dpsgd'), settings: {}, numbers: { r: 0 }, step: () => step } as Method);
  expect(() => own('r = norm(x); if r >= 1 { x = W(x) }')).toThrow(/"r" may differ between replicas/);
  expect(() => own('k = norm(x); r = 2*k; if r >= 1 { x = W(x) }')).toThrow(/"r" may differ between replicas/);
  expect(() => own('if x >= 1 { x = W(x) }; r = r + 1')).toThrow(/"x" is no number/);
  expect(() => own('if r > 1 { x = W(x) }')).toThrow(/has no meaning here/);
  expect(() => own('if r { x = W(x) }; r = r + 1')).toThrow(/expected ">="/);
  expect(own('r = spread(x, 4); if r >= 1 { x = W(x) }').stages).toHaveLength(2);
});

it('replicas stay equal if they only ever move by means', () => {
  const equal = methods.filter((method) => planOf(method).equal.has('x')).map(({ name }) => name);
  expect(equal).toEqual(['centralized']);
});

it.each([
  ['x = x - eta*mean(grad(x))', true],
  ['k = spread(x, 4); x = x - eta*k*mean(grad(x))', true],
  ['k = norm(grad(x)); x = x - eta*k*mean(grad(x))', false],
  ['a = mean(grad(x)); x = x - eta*T(a)', true],
  ['g = grad(x); a = mean(g); s = T(g); x = x - eta*T(a)', false],
  ['g = grad(x); a = mean(g); momentum = g; x = x - eta*T(a)', false],
])('replicas that step by %s stay equal: %s', (step, equal) => {
  const plan = planOf({ ...findMethod('dpsgd'), settings: {}, step: () => step } as Method);
  expect(plan.equal.has('x')).toBe(equal);
});

it('memories are what messages add up to, and what follows from them', () => {
  const memories = Object.fromEntries(
    methods.map((method) => [method.name, [...planOf(method).memories]] as const).filter(([, rows]) => rows.length > 0),
  );
  expect(memories).toEqual({
    'cd-adam': ['h'],
    'quantized-push-sum': ['h'],
    choco: ['h'],
    adagossip: ['h'],
    beer: ['q', 'h'],
    lead: ['k', 'h'],
  });
});

it('what depends on a number of its own is no memory, and memories need a topology that stays', () => {
  const pushed = (step: string) =>
    planOf({
      name: 'pushed',
      title: '',
      summary: '',
      paper: '',
      settings: {},
      needs: [],
      step: () => step,
      rows,
      numbers,
    });
  const [rows, numbers] = [{ h: 'zero' }, { y: 1 }] as const;
  const known = pushed('h += C(x - h); x = x + pull(h); k = 2*h; x = x + k; y = A(y); x = x/y');
  expect([[...known.memories], known.needs]).toEqual([['h', 'k'], ['static']]);
  expect([...pushed('h += C(x - h); x = x + pull(h); k = y*h; x = x + k; y = A(y)').memories]).toEqual(['h']);
});

it('in pairs a step is one replica’s own, and no other than that of AD-PSGD', () => {
  const own = (step: string) => planOf({ ...dpsgdLike, rows: { s: 'x' }, step: () => step });
  expect(own('g = grad(s); x = pair(x); x = x - eta*T(g); s = x').asynchronous).toEqual({ overlap: false });
  expect(own('g = grad(s); s = x; x = pair(x); x = x - eta*T(g)').asynchronous).toEqual({ overlap: true });
  expect(() => own('g = grad(s); x = pair(x); x = W(x); x = x - eta*T(g); s = x')).toThrow(/only be that of ad-psgd/);
  expect(plan('dpsgd').asynchronous).toBeUndefined();
});

it('a step holds no more matrices than it needs', () => {
  const needed = Object.fromEntries(methods.map((method) => [method.name, matricesOf(planOf(method))]));
  expect(needed).toMatchObject({ centralized: 2, dpsgd: 2, 'local-sgd': 2, choco: 3, d2: 3, 'ad-psgd': 3 });
  expect(Math.max(...Object.values(needed))).toBeLessThanOrEqual(8);
});

describe('bytes and messages', () => {
  const sizes = { replicas: 8, degree: 2, columns: 100, compressedBytes: 80 };
  const traffic = (name: string, settings = {}, when = {}) => {
    const method = plan(name, settings);
    return trafficOf(method, stepOf(method, { ...moment, ...when }), sizes);
  };
  it.each([
    ['dpsgd', {}, 800, 2],
    ['ad-psgd', {}, 800, 2],
    ['centralized', {}, 700, 14],
    ['dsgt', {}, 1600, 4],
    ['momentum-tracking', {}, 1600, 2],
    ['sgp', {}, 808, 2],
    ['choco', {}, 160, 2],
    ['beer', {}, 320, 4],
    ['local-sgd', { period: 2 }, 0, 0],
  ])('%s %o', (name, settings, bytes, messages) => {
    expect(traffic(name, settings)).toEqual({ bytes, messages });
  });
  it('an exact mean is an all-reduce', () => {
    expect(traffic('local-sgd', { period: 2 }, { t: 1 })).toEqual({ bytes: 700, messages: 14 });
  });
});

describe('all steps of a run', () => {
  const own = (step: string, settings: object = { rows: {} }) =>
    planOf({
      ...findMethod('dpsgd'),
      settings: {},
      scalars: () => ({ H: 4, K: 3 }),
      step: () => step,
      ...settings,
    } as unknown as Method);
  const rows = { rows: { m: 'zero' } };

  it.each([
    [
      'nested',
      own('first {} else { x = x - eta*grad(x); every H { a = W(x); b = W(a); c = W(b); x = (a + b + c)/3 } }'),
    ],
    [
      'two periods',
      own('every H { a = W(x); b = W(a) } else { a = x; b = x }; every K { c = W(b); x = a + b + c } else { x = a }'),
    ],
    [
      'fused in some steps',
      own('every H { g = grad(x); x = x - eta*T(g); m = g } else { x = x - eta*T(grad(x)) }; x = W(x - m)', rows),
    ],
    ['adapt-while-communicating', plan('dpsgd', { order: 'adapt-while-communicating', localSteps: 2 })],
    ['ladder', plan('ladder')],
  ])('find the matrices and programs that were counted: %s', (_, each) => {
    const places = new Places(
      keptRows(each),
      Array.from({ length: matricesOf(each) }, (__, i) => i),
    );
    const programs = programsOf(each);
    for (let t = 0; t < 25; t++) {
      const { actions, dead } = stepOf(each, { ...moment, t, steps: 25 });
      for (const [index, action] of actions.entries()) {
        places.place(action, dead[index]!);
        if (action.do === 'adapt') expect(programs.adapt).toBe(true);
        if (action.do === 'gradient' || action.do === 'update' || action.do === 'direction')
          expect(programs.adapt).toBe(false);
      }
    }
  });

  it('move all replicas by one optimizer only if nothing else uses it', () => {
    const together = (step: string) => programsOf(own(step, rows)).common;
    expect(together('g = mean(grad(x)); x = x - eta*T(g); m = x')).toBe(true);
    expect(together('g = mean(grad(x)); x = x - eta*T(g); every H { m = 0.9*m + g; x = x - 0.01*m }')).toBe(false);
    expect(together('s = x - eta*T(mean(grad(x))); m = s; x = s + 0.9*(s - x)')).toBe(false);
  });

  it('have one value of what follows from settings, and no powers of rows', () => {
    expect(() => own('a = eta; x = x - a*grad(x); a = 3*eta; x = W(x - a*grad(x))')).toThrow(/"a" is set twice/);
    expect(() => own('every H { a = eta } else { a = 2*eta }; x = x - a*grad(x)')).not.toThrow();
    expect(() => own('g = grad(x); x = x - eta*g^2')).toThrow(/cannot be raised to a power; write g\*g/);
    expect(() => own('x = x - eta*0.5^t*grad(x)')).not.toThrow();
  });

  it('let consensus be controlled if x is the last that they mix', () => {
    const controllable = (step: string, given?: object) => planFacts(own(step, given)).controllable;
    expect(controllable('x = W(x - eta*grad(x)); x = W(x)')).toBe(true);
    expect(controllable('x = x - eta*grad(x); x = W(x); m = W(m + x)', rows)).toBe(false);
    expect(controllable('x = x - eta*grad(x); x = W(x)', { needs: ['static'] })).toBe(false);
    expect(factsOf({ kind: 'dpsgd' } as never).controllable).toBe(true);
  });

  it('a row that some settings of a module do without is left out', () => {
    expect(Object.keys(own('m = grad(x); x = x - eta*m', rows).rows)).toEqual(['x']);
  });
});
