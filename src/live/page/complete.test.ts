import { describe, expect, it } from 'vitest';
import { wholeSchema } from '../../experiment/schema.ts';
import { askedFor, caretAt, lineOfProblem, type Schema, suggestions } from './complete.ts';

const schema = wholeSchema() as Schema;
/** What is on offer at the bar of a text. */
function at(text: string) {
  const caret = caretAt(text.replace('|', ''), text.indexOf('|'));
  return { caret, labels: suggestions(schema, caret).map(({ label }) => label) };
}

describe('completion of an experiment', () => {
  it('offers keys at the top, without those that are there', () => {
    const { labels } = at('name: x\nreplicas: 4\n|');
    expect(labels).toContain('topology');
    expect(labels).not.toContain('replicas');
    expect(at('na|').labels[0]).toBe('name');
  });

  it('knows the group by indentation, by braces and over several lines', () => {
    expect(at('learningRate:\n  |').labels).toContain('warmup');
    expect(at('learningRate: { base: 0.1, w| }').labels.slice(0, 2)).toEqual(['warmup', 'warmupFrom']);
    expect(at('learningRate: {\n  base: 0.1,\n  |\n}').labels).not.toContain('base');
    expect(at('evaluation: { samples: 5 }\n|').labels).toContain('learningRate');
    expect(at('a: "{"\n|').labels).toContain('learningRate');
    expect(at('# data: {\n|').labels).toContain('data');
  });

  it('goes by the kind that is said, before or behind the caret', () => {
    expect(at('data: { kind: mnist, | }').labels).toContain('partition');
    expect(at('data: { kind: mnist, | }').labels).not.toContain('path');
    expect(at('data:\n  |\n  kind: table').labels).toContain('path');
    expect(at('data: { kind: mnist, partition: { kind: dirichlet, | } }').labels).toEqual(
      expect.arrayContaining(['alpha']),
    );
  });

  it('offers values', () => {
    expect(at('topology: { kind: ri| }').labels).toContain('ring');
    expect(at('topology: { kind: | }').labels).toContain('torus');
    expect(at('topology: { kind: | }').labels).not.toContain('torus2d');
    expect(at('topology: { kind: torus2| }').labels).toEqual(['torus2d']);
    expect(at('topology: |').labels).toContain('{ kind: ring }');
    expect(at('data: { kind: mnist, dropLast: | }').labels).toEqual(['true', 'false']);
    expect(at('replicas: |').labels).toEqual([]);
    expect(askedFor(schema, at('replicas: |').caret)).toMatch(/whole number.*train together/);
  });

  it('tells one variant from the next', () => {
    const text = 'compare:\n  - name: a\n    topology: { kind: ring }\n  - name: b\n    |';
    expect(at(text).caret.path).toEqual(['compare', '[1]']);
    expect(at(text).labels).toContain('topology');
    expect(at(text).labels).not.toContain('name');
    const flat = 'compare:\n- name: a\n- |';
    expect(at(flat).caret.path).toEqual(['compare', '[1]']);
    expect(at(`${text.replace('|', '')}\n|`).labels).toContain('data');
  });

  it('inserts what a value begins with', () => {
    const insert = (text: string, label: string) => {
      const { caret } = at(text);
      return suggestions(schema, caret).find((each) => each.label === label)!.insert;
    };
    expect(insert('|', 'data')).toBe('data: { kind:  }');
    expect(insert('|', 'learningRate')).toBe('learningRate:\n  ');
    expect(insert('|', 'compare')).toBe('compare:\n  - ');
    expect(insert('model: { kind: mlp, | }', 'hidden')).toBe('hidden: []');
    expect(insert('|', 'seed')).toBe('seed: ');
  });

  it('finds the line that a problem is about', () => {
    const text =
      'name: x\nreplicas: many\ndata: { kind: mnist }\ncompare:\n  - name: a\n  - name: b\n    topology: { kind: rnig }\n';
    expect(lineOfProblem(text, '  - replicas: must be a whole number')).toBe(1);
    expect(lineOfProblem(text, '  - data.trian: is not known')).toBe(2);
    expect(lineOfProblem(text, '  - compare[1] (b): topology.kind: "rnig" is not a known kind')).toBe(6);
    expect(lineOfProblem(text, '  - compare[0] (a): batch: is missing')).toBe(4);
    expect(lineOfProblem(text, 'experiment:3: Nested mappings')).toBe(2);
    expect(lineOfProblem(text, '  - batch: is missing')).toBeUndefined();
  });
});
