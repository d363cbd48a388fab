import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { reportText } from '../../src/cli/report-text.ts';
import { resolve } from '../../src/experiment/experiment.ts';
import { buildReport } from '../../src/report/build.ts';
import { fitted } from '../../src/report/fit.ts';
import { reportHtml } from '../../src/report/html.ts';
import type { Report } from '../../src/report/report.ts';
import { commands, type Recipe, recipes } from '../../src/report/reproduce.ts';
import { stillsOf, writeStills } from '../../src/report/still.ts';
import type { Run } from '../../src/store/runs.ts';
import { storeRun } from './stored.ts';

const variants = [
  { name: 'C_complete', algorithm: { kind: 'centralized' } },
  { name: 'D_complete', topology: { kind: 'complete' } },
  { name: 'D_exponential', topology: { kind: 'exponential' } },
  { name: 'D_torus', topology: { kind: 'torus' } },
  { name: 'D_ring', topology: { kind: 'ring' } },
  { name: 'Ada', topology: { kind: 'ada', k0: 8, kEnd: 2 } },
];

/** Six made-up runs of eight epochs; each implementation with its own variance and accuracy. */
function store(root: string, replicas: number, stepsPerEpoch: number, seed = 1) {
  return Promise.all(
    variants.map((settings, i) =>
      storeRun(root, {
        settings: { ...settings, replicas, seed },
        accuracy: Array.from({ length: 8 }, (_, epoch) => 0.95 - (0.02 * i + 0.3) / (epoch + seed)),
        spread: (step) => (i === 0 ? 0 : (i * (step + 1)) / (step * step + 40)),
        connections: [replicas - 1, replicas - 1, 6, 4, 2, 5][i]!,
        stepsPerEpoch,
      }),
    ),
  );
}

const folders: string[] = [];
function folder(): string {
  folders.push(mkdtempSync(join(tmpdir(), 'dbench-figures-')));
  return folders.at(-1)!;
}
afterAll(() => {
  for (const made of folders) rmSync(made, { recursive: true, force: true });
});

describe('figures as files', () => {
  let report: Report;
  beforeAll(async () => {
    const root = folder();
    const runs = [...(await store(root, 16, 5)), ...(await store(root, 16, 5, 2)), ...(await store(root, 64, 5))];
    report = await buildReport(runs);
  }, 120_000);

  it('are SVG and PNG of every figure, scale, quantity and implementation', async () => {
    const target = folder();
    const files = await writeStills(report, target);
    const scaled = [
      'learning-accuracy',
      'learning-loss',
      'accuracy-cost',
      'connections',
      'connections-accuracy',
      'variance-accuracy',
      'variance',
      'rank',
      'heatmap',
      'distance',
      'network',
      'topologies',
      'phases',
      'progress',
    ];
    const names = ['scaling', ...scaled.flatMap((name) => [`${name}-n-16`, `${name}-n-64`])];
    const expected = names.flatMap((name) => [`${name}.png`, `${name}.svg`]);
    expect(readdirSync(target).sort()).toEqual(expected.sort());
    expect(files).toHaveLength(expected.length);
    for (const name of names) {
      const svg = readFileSync(join(target, `${name}.svg`), 'utf8');
      expect(svg, name).toMatch(/^<svg [^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
      expect(svg, name).not.toMatch(/NaN|Infinity|undefined|var\(/);
      const [vector, raster] = [await sharp(Buffer.from(svg)).metadata(), sharp(join(target, `${name}.png`))];
      const { width, height } = await raster.metadata();
      expect([width, height], name).toEqual([2 * vector.width, 2 * vector.height]);
      const { channels, isOpaque } = await raster.stats();
      expect(isOpaque, name).toBe(true);
      // White in the corner, and something drawn.
      const corner = await raster.extract({ left: 0, top: 0, width: 1, height: 1 }).removeAlpha().raw().toBuffer();
      expect([...corner], name).toEqual([255, 255, 255]);
      expect(channels[0]!.stdev, name).toBeGreaterThan(10);
    }
  });

  it('are bare drawings for papers, with text as text and nothing that only a browser knows', () => {
    const plain = stillsOf(report, { plain: true });
    expect(plain.map(({ name }) => name)).toEqual(stillsOf(report).map(({ name }) => name));
    for (const { name, svg } of plain) {
      expect(svg, name).not.toMatch(/currentColor|system-ui|var\(|foreignObject|Bars are|How well/);
      expect(svg, name).toContain('font-family="Helvetica, Arial, sans-serif"');
      const ids = [...svg.matchAll(/ id="([^"]+)"/g)].map((found) => found[1]);
      expect(new Set(ids).size, name).toBe(ids.length);
      // Title for readers of the file, not for the picture.
      expect([...svg.matchAll(/<text[^>]*>([^<]*)/g)].map((found) => found[1])).not.toContain('Learning curves');
    }
    expect(plain[0]!.svg).toMatch(/<text[^>]*>D_torus</);
  });

  it('say in the figure how strong the correlation is', () => {
    const { svg } = stillsOf(report).find(({ name }) => name === 'variance-accuracy-n-64')!;
    const { rho, p } = report.comparisons.find(({ replicas }) => replicas === 64)!.varianceAccuracy;
    expect(rho).toBeLessThan(-0.8);
    expect(svg).toContain(`ρ = −${Math.abs(rho!).toFixed(2)}, p = ${Number(p!.toPrecision(2))}`);
  });

  it('draw an implementation in the same colour everywhere', () => {
    const orange = stillsOf(report).filter(({ svg }) => svg.includes('D_torus') && !svg.includes('class="cells"'));
    expect(orange.length).toBeGreaterThan(10);
    for (const { name, svg } of orange)
      if (!/^(topologies|network|phases|progress)/.test(name)) expect(svg, name).toContain('stroke="#e69f00"');
  });
});

describe('the text', () => {
  it('fits the terminal: no line is longer, and no column is lost', async () => {
    const root = folder();
    const runs = [...(await store(root, 16, 5)), ...(await store(root, 16, 5, 2))];
    const report = await buildReport([
      ...runs,
      await storeRun(root, {
        settings: { name: 'held', replicas: 16, consensus: { kind: 'fixed', fraction: 0.5, maxDistance: 1 } },
        accuracy: [0.1, 0.5, 0.6, 0.7, 0.8, 0.81, 0.82, 0.83],
        stepsPerEpoch: 5,
      }),
    ]);
    for (const width of [80, 120]) {
      const text = reportText(report, width);
      expect(text.split('\n').filter((line) => line.length > width)).toEqual([]);
      for (const header of ['connections', 'gossips', 'merged %', 'rank', 'training', 'seeds', '− column'])
        expect(text).toContain(header);
    }
  });
});

describe('the page as a file', () => {
  it('is far below 5 MB for 6 runs of 160 steps at 64 replicas', async () => {
    const page = reportHtml(await buildReport(await store(folder(), 64, 20)));
    expect(page.length).toBeGreaterThan(300_000);
    expect(Buffer.byteLength(page)).toBeLessThan(1_000_000);
  });

  it('gets fewer points, and says so, where a report has too many numbers', async () => {
    const report = await buildReport(await store(folder(), 16, 50));
    expect(fitted(report)).toBe(report);
    const many = { ...report, runs: Array.from({ length: 12 }, () => report.runs).flat() };
    const { runs, notes } = fitted(many);
    expect(notes.at(-1)).toMatch(/one point, and its network one moment, for every \d/);
    const [before, after] = [report.runs[4]!, runs[4]!];
    const size = Number(/every (\d+)/.exec(notes.at(-1)!)![1]);
    expect(after.steps.step).toHaveLength(Math.ceil(before.steps.step.length / size));
    expect(after.steps.step.at(-1)).toBe(before.steps.step.at(-1));
    expect(after.steps.loss.max[0]).toBe(Math.max(...(before.steps.loss.max.slice(0, size) as number[])));
    const first = before.variance.tensors.gini[1]!.slice(0, size) as number[];
    expect(after.variance.tensors.gini[1]![0]).toBeCloseTo(first.reduce((a, b) => a + b) / size, 12);
    expect(Buffer.byteLength(reportHtml(many))).toBeLessThan(5_000_000);
  });

  const plain = (runs: readonly Run[]) => JSON.parse(JSON.stringify(runs.map(({ experiment }) => experiment)));
  const again = ({ yaml, file }: Recipe) => JSON.parse(JSON.stringify(resolve(parse(yaml), file)));

  it('holds experiments that give the same runs again', async () => {
    const root = folder();
    const runs = [...(await store(root, 16, 5, 3)), ...(await store(root, 16, 5, 4)), ...(await store(root, 64, 5, 3))];
    const report = await buildReport(runs);
    const all = recipes(report);
    expect(all.map(({ file }) => file)).toEqual(['n-16.yaml', 'n-64.yaml']);
    expect(again(all[0]!)).toEqual(plain(runs.slice(0, 12)));
    expect(again(all[1]!)).toEqual(plain(runs.slice(12)));
    expect(commands(all)).toEqual([
      'npx dbench run n-16.yaml --runs again',
      'npx dbench run n-64.yaml --runs again',
      'npx dbench report again --html again.html',
    ]);
    expect(reportHtml(report)).toContain('npx dbench run n-64.yaml --runs again');
  });

  it('holds one for all seeds and scales where all have the same', async () => {
    const root = folder();
    const runs = [];
    for (const seed of [3, 4]) for (const replicas of [16, 64]) runs.push(...(await store(root, replicas, 5, seed)));
    const [one, ...others] = recipes(await buildReport(runs));
    expect(others).toEqual([]);
    expect(one!.file).toBe('n-16-n-64.yaml');
    expect(again(one!)).toEqual(plain(runs));
  });
});
