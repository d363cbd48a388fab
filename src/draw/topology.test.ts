import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { summarize } from '../topology/summary.ts';
import { buildTopology, type Topology } from '../topology/topology.ts';
import { drawSmall, smallSize } from './network.ts';
import { drawTopology } from './topology.ts';

function draw(kind: string, n: number, settings = {}): string {
  const topology = buildTopology({ kind, ...settings }, n, 1);
  return drawTopology(topology, summarize(topology));
}

const count = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].length;
/** Edges drawn: lines and curves within the groups of edges. */
const edges = (svg: string) =>
  [...svg.matchAll(/<g class="edges"[^>]*>\n(.*?)\n<\/g>/gs)].reduce((sum, [group]) => sum + count(group, /[Lq]/g), 0);
const panels = (svg: string) => count(svg, /<g class="panel">/g);
const caption = (svg: string) => /<desc>(.*)<\/desc>/.exec(svg)![1];

/** What an XML parser would complain about: tags that do not match, bare & and <, attributes given twice. */
function malformed(svg: string): string[] {
  const open: string[] = [];
  const out: string[] = [];
  for (const [, text, close, name, attributes, empty] of svg.matchAll(
    /([^<]*)<(\/?)([a-zA-Z]+)((?: [a-zA-Z-]+="[^"<]*")*)(\/?)>/g,
  )) {
    if (/&(?!amp;|lt;|gt;|quot;)/.test(`${text}${attributes}`)) out.push(`bare & before <${name}`);
    const names = [...attributes!.matchAll(/ ([a-zA-Z-]+)=/g)].map((found) => found[1]);
    if (new Set(names).size < names.length) out.push(`<${name} has an attribute twice`);
    if (close === '/') {
      if (open.pop() !== name) out.push(`</${name}> closes something else`);
    } else if (empty === '') open.push(name!);
  }
  if (open.length > 0) out.push(`${open.join()} left open`);
  const rest = svg.replace(/<(\/?)([a-zA-Z]+)((?: [a-zA-Z-]+="[^"<]*")*)(\/?)>/g, '');
  if (/[<>]/.test(rest)) out.push('a bare < or >');
  return out;
}

it('is the picture it was (UPDATE=1 takes the new one)', () => {
  const path = new URL('../../test/golden/topology-exponential-8.svg', import.meta.url);
  const svg = draw('exponential', 8);
  if (process.env.UPDATE === '1') writeFileSync(path, svg);
  expect(svg).toBe(readFileSync(path, 'utf8'));
});

describe('every edge is one line', () => {
  it.each([
    ['ring', 8, {}, 8],
    ['ring', 2, {}, 1],
    ['star', 33, {}, 32],
    ['complete', 64, {}, 2016],
    ['exponential', 16, {}, 64],
    ['exponential', 100, {}, 700],
    ['lattice', 96, { k: 10 }, 480],
    ['lattice', 1008, { k: 112 }, 56_448],
    ['torus', 96, {}, 192],
  ])('%s(%i, %o)', (kind, n, settings, expected) => {
    const svg = draw(kind, n, settings);
    expect(edges(svg)).toBe(expected);
    expect(malformed(svg)).toEqual([]);
    expect(panels(svg)).toBe(1);
    expect(svg).not.toMatch(/NaN|Infinity|undefined|null/);
    expect(svg.length).toBeLessThan(2_000_000);
  });
});

describe('time-varying topologies are small multiples', () => {
  it('one panel a step of the period', () => {
    const svg = draw('base', 12);
    expect(panels(svg)).toBe(5);
    expect(svg).toContain('>step 3 of 5<');
    expect(caption(svg)).toContain('repeats after 5 steps');
    const steps = [0, 1, 2, 3, 4].map(
      (step) => buildTopology({ kind: 'base' }, 12, 0).round(step).sources.flat().length / 2,
    );
    expect(edges(svg)).toBe(steps.reduce((a, b) => a + b));
  });

  it('the first twelve of a long period', () => {
    const svg = draw('base', 1008);
    expect(panels(svg)).toBe(12);
    expect(caption(svg)).toContain('repeats after 15 steps; the first 12');
    expect(malformed(svg)).toEqual([]);
  });

  it('six of those drawn anew each step', () => {
    const svg = draw('matcha', 12, { budget: 0.1 });
    expect(panels(svg)).toBe(6);
    expect(svg).toContain('>step 6<');
    expect(caption(svg)).toContain('drawn anew each step; the first 6 steps');
    expect(malformed(svg)).toEqual([]);
  });
});

describe('a drawing', () => {
  it('says what it shows', () => {
    const svg = draw('ring', 96);
    expect(svg).toContain('<title>ring, 96 replicas</title>');
    expect(caption(svg)).toBe('degree 2 · 96 edges · spectral gap 0.001427 · diameter 48');
    expect(caption(draw('star', 8))).toBe('degree 1 to 7, mean 1.75 · 7 edges · spectral gap 0.125 · diameter 2');
  });

  it('of too many edges shows some, and says so', () => {
    const svg = draw('complete', 1008);
    expect(caption(svg)).toContain('507,528 edges');
    const one = Number(/one in (\d+) edges drawn/.exec(caption(svg)!)![1]);
    expect(Math.abs((edges(svg) * one) / 507_528 - 1)).toBeLessThan(0.05);
    expect(svg.length).toBeLessThan(2_000_000);
  });

  it('has arrowheads on directed topologies while they can be told apart', () => {
    expect(count(/<path class="arrows" d="([^"]*)"/.exec(draw('exponential', 16))![1]!, /Z/g)).toBe(64);
    expect(draw('exponential', 16)).toContain('arrows point to the receiver');
    expect(draw('exponential', 64)).not.toContain('class="arrows"');
    expect(draw('ring', 16)).not.toContain('class="arrows"');
  });

  it('numbers the replicas, or some of many', () => {
    const numbers = (svg: string) =>
      [.../<g class="labels">(.*)<\/g>/.exec(svg)![1]!.matchAll(/>(\d+)</g)].map((found) => Number(found[1]));
    expect(numbers(draw('ring', 64))).toEqual(Array.from({ length: 64 }, (_, i) => i));
    expect(numbers(draw('ring', 1008))).toEqual(Array.from({ length: 16 }, (_, i) => 64 * i));
  });

  it('of a ring is a ring at any size: every edge is a side of the polygon', () => {
    for (const n of [8, 64, 1008]) {
      const lines = [...draw('ring', n).matchAll(/M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)/g)].map((found) =>
        found.slice(1).map(Number),
      );
      const side = 2 * 320 * Math.sin(Math.PI / n);
      const sides = lines.filter(([x, y, toX, toY]) => Math.abs(Math.hypot(toX! - x!, toY! - y!) - side) < 0.2);
      // Ticks beside the numbers are lines, too.
      expect(sides.length).toBe(n);
    }
  });

  it('of a torus is its grid, with stubs where it wraps around', () => {
    const svg = draw('torus', 24, { rows: 4 });
    const centres = [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)"/g)];
    expect([1, 2].map((side) => new Set(centres.map((found) => found[side])).size)).toEqual([6, 4]);
    const group = /<g class="edges"[^>]*>\n(.*?)\n<\/g>/s.exec(svg)![1]!;
    expect([count(group, /h-?[\d.]/g), count(group, /v-?[\d.]/g)]).toEqual([4, 6]);
    expect(edges(svg)).toBe(48);
    expect(svg).not.toContain('class="rim"');
    // Two rows are joined once, so that nothing wraps around between them.
    expect(draw('torus', 6, { rows: 2 })).not.toMatch(/v-?[\d.]/);
  });

  it('shows one replica alone', () => {
    const svg = draw('ring', 1);
    expect(svg).toContain('<title>ring, 1 replica</title>');
    expect(edges(svg)).toBe(0);
    expect(malformed(svg)).toEqual([]);
    expect(svg).not.toMatch(/NaN|Infinity/);
  });

  it('escapes what it is given', () => {
    const topology: Topology = { ...buildTopology({ kind: 'ring' }, 4, 0), kind: '<b> & "c"' };
    const svg = drawTopology(topology, summarize(topology));
    expect(svg).toContain('<title>&lt;b&gt; &amp; &quot;c&quot;, 4 replicas</title>');
    expect(malformed(svg)).toEqual([]);
  });

  it('follows light and dark', () => {
    expect(draw('ring', 8)).toContain('@media (prefers-color-scheme:dark)');
  });
});

describe('a small drawing', () => {
  const small = (kind: string, n: number, settings = {}) => drawSmall(buildTopology({ kind, ...settings }, n, 1));

  it('has every edge where there are few, without numbers', () => {
    const { shapes, every } = small('complete', 64);
    expect([edges(shapes), every]).toEqual([2016, 1]);
    expect(shapes).not.toMatch(/<text|<style/);
    expect(malformed(shapes)).toEqual([]);
  });

  it('stays small and within its square at 1008 replicas, and says how many edges there are', () => {
    for (const [kind, settings] of [['complete'], ['lattice', { k: 500 }], ['exponential'], ['ring']] as const) {
      const { shapes, every } = small(kind, 1008, settings);
      expect(shapes.length, kind).toBeLessThan(100_000);
      const topology = buildTopology({ kind, ...settings }, 1008, 1);
      const all = summarize(topology).edges;
      expect(edges(shapes) / (all / every), kind).toBeCloseTo(1, 0);
      for (const [, x, y] of shapes.matchAll(/M(-?[\d.]+) (-?[\d.]+)/g)) {
        expect(Math.min(Number(x), Number(y)), kind).toBeGreaterThanOrEqual(0);
        expect(Math.max(Number(x), Number(y)), kind).toBeLessThanOrEqual(smallSize);
      }
    }
  });

  it('is of the first step where the steps differ', () => {
    expect(edges(small('one-peer-exponential', 64).shapes)).toBe(64);
  });
});
