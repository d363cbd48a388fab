import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { contentSha256 } from '../data/content.ts';
import { loadExperiment, loadPlan, resolve } from './experiment.ts';
import { byContent, locate } from './files.ts';
import { runSchema } from './schema.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-files-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const sha256 = (content: string) => createHash('sha256').update(content).digest('hex');
const write = (name: string, content: string) => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
const path3 = '3\n0 1\n1 2\n';
const settings = {
  name: 'small',
  replicas: 3,
  data: { kind: 'synthetic' },
  model: { kind: 'mlp' },
  batch: 4,
  epochs: 2,
  learningRate: { base: 0.1 },
  topology: { kind: 'file', path: 'graph.txt' },
};
const experimentIn = (name: string, more: object = {}) => write(name, JSON.stringify({ ...settings, ...more }));

describe('paths', () => {
  it('count from the folder of the experiment, those of --set from the working directory', () => {
    const file = experimentIn('a.json', {
      compare: [{ name: 'a' }, { name: 'b', topology: { kind: 'ring' }, data: { kind: 'images', path: 'photos' } }],
    });
    write('graph.txt', path3);
    const [a, b] = loadExperiment(file);
    expect(a!.topology).toEqual({ kind: 'file', path: join(folder, 'graph.txt'), sha256: sha256(path3) });
    expect(b!.data).toMatchObject({ kind: 'images', path: join(folder, 'photos') });
    const [set] = loadExperiment(file, ['topology={kind: ring}', 'data={kind: images, path: photos}']);
    expect(set!.data).toMatchObject({ path: join(process.cwd(), 'photos') });
  });

  it('in sweeps and phases as well', () => {
    write('graph.txt', path3);
    write('other.txt', '3\n0 1\n0 2\n');
    const file = experimentIn('a.json', { sweep: { 'topology.path': ['graph.txt', 'other.txt'] } });
    const runs = loadPlan(file).map(({ experiment }) => experiment);
    expect(runs.map(({ topology }) => topology)).toMatchObject([
      { path: join(folder, 'graph.txt'), sha256: sha256(path3) },
      { path: join(folder, 'other.txt'), sha256: sha256('3\n0 1\n0 2\n') },
    ]);
    const phases = [{ from: 0, topology: { kind: 'file', path: 'graph.txt' } }];
    expect(locate({ phases }, '/x')).toEqual({
      phases: [{ from: 0, topology: { kind: 'file', path: '/x/graph.txt' } }],
    });
  });

  it('leave the names of sets that can be downloaded alone, unless a file has that name', () => {
    expect(locate({ trainPath: 'a9a', testPath: 'mine' }, folder)).toEqual({
      trainPath: 'a9a',
      testPath: join(folder, 'mine'),
    });
    write('a9a', '1 1:1\n');
    expect(locate({ trainPath: 'a9a' }, folder)).toEqual({ trainPath: join(folder, 'a9a') });
  });
});

describe('the content of a file', () => {
  const topologyOf = () => loadExperiment(join(folder, 'a.json'))[0]!.topology;

  it('decides which run it is, its place does not', () => {
    experimentIn('a.json');
    write('graph.txt', path3);
    const before = topologyOf();
    write('graph.txt', `${path3}0 2\n`);
    expect(byContent(topologyOf())).not.toEqual(byContent(before));
    mkdirSync(join(folder, 'elsewhere'));
    write('elsewhere/graph.txt', path3);
    const moved = loadExperiment(experimentIn('elsewhere/a.json'))[0]!.topology;
    expect(moved).not.toEqual(before);
    expect(byContent(moved)).toEqual(byContent(before));
  });

  it('must be what the experiment says, if it says so', () => {
    experimentIn('a.json', { topology: { ...settings.topology, sha256: sha256('something else') } });
    write('graph.txt', path3);
    expect(topologyOf).toThrow(/topology: .*graph.txt has changed: its SHA-256 is [0-9a-f]{12}…, the experiment says/);
  });

  it('is kept when a resolved run is resolved again', () => {
    experimentIn('a.json');
    write('graph.txt', path3);
    const [run] = loadExperiment(join(folder, 'a.json'));
    expect(JSON.stringify(resolve(structuredClone(run), 'test')[0])).toBe(JSON.stringify(run));
  });
});

describe('contentSha256', () => {
  it('is that of the uncompressed content', () => {
    writeFileSync(join(folder, 'small.gz'), gzipSync('content'));
    expect(contentSha256(join(folder, 'small'))).toBe(sha256('content'));
    expect(contentSha256(join(folder, 'none'))).toBeUndefined();
    expect(contentSha256('/dev/zero')).toBeUndefined();
  });

  it('of a folder is that of the list of its images, which any change changes', () => {
    mkdirSync(join(folder, 'train/cats'), { recursive: true });
    write('train/cats/1.png', 'one');
    write('train/.hidden', 'not counted');
    write('notes', 'not counted');
    expect(contentSha256(folder)).toBe(sha256(`${sha256('one')}  train/cats/1.png\n`));
    // As large as before: only the time of change and the content tell.
    utimesSync(write('train/cats/1.png', 'two'), 1, 1);
    expect(contentSha256(folder)).toBe(sha256(`${sha256('two')}  train/cats/1.png\n`));
  });
});

it('every setting that names a file has its SHA-256 beside it', () => {
  const groups: string[][] = [];
  const visit = (schema: unknown): void => {
    if (typeof schema !== 'object' || schema === null) return;
    const { properties } = schema as { properties?: object };
    if (properties !== undefined) groups.push(Object.keys(properties));
    for (const part of Object.values(schema)) visit(part);
  };
  visit(z.toJSONSchema(runSchema, { io: 'input' }));
  const files = groups.flatMap((keys) => keys.filter((key) => /path$/i.test(key)).map((key) => ({ key, keys })));
  expect(files.length).toBeGreaterThan(3);
  for (const { key, keys } of files)
    expect(keys[keys.indexOf(key) + 1]).toBe(key === 'path' ? 'sha256' : key.replace('Path', 'Sha256'));
});
