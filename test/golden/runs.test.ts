import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type BackendName, backendVersion } from '../../src/backends.ts';
import { writeWhole } from '../../src/base/file.ts';
import { backends } from '../backends.ts';
import { type Course, instructionSet, measure } from './run.ts';

/** A golden file: an experiment, its course, and the bits it ends with by what computed them. */
interface Golden extends Course {
  readonly settings: object;
  /** How far backends may be apart, relative to the value. */
  readonly tolerance: number;
  readonly paramsSha256: Readonly<Record<string, string>>;
}

/** `npm run golden` writes down what runs give now, after a change that is meant to change them. */
const updating = process.env.UPDATE === '1';
const folder = new URL('runs/', import.meta.url);
const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
const read = (file: string) => JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Golden;

/** One entry per line, so that a difference shows what changed. */
function write(file: string, golden: Golden): void {
  const lines = (entries: object, indent: string): string =>
    Object.entries(entries)
      .map(([key, value]) => `${indent}${JSON.stringify(key)}: ${JSON.stringify(value)}`)
      .join(',\n');
  const parts = Object.entries(golden).map(([key, value]) =>
    typeof value === 'object' ? `  "${key}": {\n${lines(value, '    ')}\n  }` : `  "${key}": ${value}`,
  );
  writeWhole(fileURLToPath(new URL(file, folder)), `{\n${parts.join(',\n')}\n}\n`);
}

/** What is written down: the course as onnxruntime gives it, which is everywhere, and the bits of each backend. */
function updated(golden: Golden, backend: string, key: string, course: Course, sha: string): Golden {
  const { settings, tolerance = 1e-5, near, exact, paramsSha256 = {} } = golden;
  const digits = (values: readonly number[]) => values.map((value) => Number(value.toPrecision(7)));
  const rounded = {
    near: Object.fromEntries(Object.entries(course.near).map(([name, values]) => [name, digits(values)])),
    exact: course.exact,
  } as unknown as Course;
  const kept = backend === 'onnx' ? rounded : { near, exact };
  // What other machines computed is kept while nothing suggests that they would now compute something else.
  const changed = JSON.stringify({ near, exact }) !== JSON.stringify(kept);
  const others = Object.entries(paramsSha256).filter(
    ([other]) => !changed && ((paramsSha256[key] ?? sha) === sha || !other.startsWith(`${backend} `)),
  );
  return { settings, tolerance, ...kept, paramsSha256: { ...Object.fromEntries(others), [key]: sha } };
}

describe.each(backends)('$title', async ({ backend, skip }) => {
  const name = backend.name as BackendName;
  const key = skip ? '' : `${name} ${await backendVersion(name)} ${instructionSet()}`;
  for (const file of files) {
    const bits = read(file).paramsSha256?.[key] === undefined ? 'no bits known' : 'and the bits';
    it.skipIf(skip)(`${file} ${bits} of ${key}`, async () => {
      const { course, paramsSha256 } = await measure(read(file).settings, name);
      if (updating) write(file, updated(read(file), name, key, course, paramsSha256));
      const golden = read(file);
      expect(course.exact).toEqual(golden.exact);
      for (const [what, wanted] of Object.entries(golden.near)) {
        const values = course.near[what as keyof Course['near']];
        expect(values, what).toHaveLength(wanted.length);
        for (const [i, value] of values.entries())
          expect(Math.abs(value - wanted[i]!), `${what} ${i}: ${value}, not ${wanted[i]}`).toBeLessThanOrEqual(
            golden.tolerance * Math.abs(wanted[i]!),
          );
      }
      expect(paramsSha256).toBe(golden.paramsSha256[key] ?? paramsSha256);
    });
  }
});
