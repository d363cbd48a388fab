import { describe, expect, it } from 'vitest';
import { stepOf } from './actions.ts';
import { type Method, planOf } from './method.ts';
import { findMethod, methods } from './methods.ts';
import { matricesOf } from './places.ts';
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
