import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadExperiment, loadPlan, override } from './experiment.ts';
import { parseText, shippedExperiments } from './source.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-source-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

const whole = `
name: whole
description: all of it
replicas: 8
data: { kind: mnist }
model: { kind: mlp }
batch: 4
epochs: 2
learningRate: { base: 0.1 }
compare:
  - { name: a, topology: { kind: lattice, k: 4 } }
  - { name: b }
`;

describe('extends', () => {
  it('gives the same runs as everything in one file', () => {
    write('whole.yaml', whole);
    const own = write(
      'own.yaml',
      'extends: whole.yaml\nepochs: 3\ncompare: [{ name: a, topology: { k: 6 } }, { name: c }]',
    );
    const all = write(
      'all.yaml',
      whole.replace('epochs: 2', 'epochs: 3').replace('k: 4', 'k: 6').replace('description: all of it\n', '') +
        '  - { name: c }\n',
    );
    expect(loadExperiment(own)).toEqual(loadExperiment(all));
  });

  it('finds files beside the one that extends, with their own paths, and names from anywhere', () => {
    mkdirSync(join(folder, 'base'));
    write('base/whole.yaml', `${whole.replace(/compare:.*/s, '')}topology: { kind: file, path: graph.txt }`);
    write('base/graph.txt', '8\n0 1\n1 2\n2 3\n3 4\n4 5\n5 6\n6 7\n');
    const [own] = loadExperiment(write('own.yaml', 'extends: base/whole.yaml'));
    expect(own!.topology).toMatchObject({ path: join(folder, 'base/graph.txt') });
    const seeds = loadPlan(write('seeds.yaml', 'extends: quickstart\nsweep: { seed: [1, 2] }'));
    expect(seeds).toHaveLength(12);
  });

  it.each([
    ['extends: own.yaml', /own.yaml: extends itself/],
    ['extends: [a]', /own.yaml: extends: must be the name or the path of an experiment, got \["a"\]/],
    ['extends: nothing', /cannot read the experiment nothing: no such file/],
    ['extends: list.yaml', /list.yaml: must be a group of settings to be extended/],
    ['extend: whole.yaml', /unknown setting "extend"; did you mean "extends"\?/],
    ['extends: base/implementations', /replicas: is missing/],
  ])('refuses %s', (text, message) => {
    write('list.yaml', '[]');
    expect(() => loadPlan(write('own.yaml', text))).toThrow(message);
  });

  it('is not for --set', () => {
    expect(() => override({}, 'extends=quickstart')).toThrow('only a file can say what it extends');
  });
});

it.each(['a: *b\nb: &b 1', '*a', '&a [*a]'])('an alias that stands for nothing is a mistake: %j', (text) => {
  expect(() => parseText(text, 'x.yaml')).toThrow(/^x.yaml: /);
});

it('experiments that come with the package are called what their file is called', () => {
  for (const { name, path } of shippedExperiments()) {
    expect(parseText(`name: ${name}`, '')).toEqual({ name });
    expect(path).toMatch(new RegExp(`${name}.yaml$`));
  }
});
