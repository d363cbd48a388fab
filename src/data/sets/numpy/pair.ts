import { suggest, UserError } from '../../../base/error.ts';
import { reason } from '../../../base/file.ts';
import { contentOf } from '../../folder.ts';
import { ownFile } from '../../own.ts';
import { type NumpyArray, parseNpy, parseNpz } from './parse.ts';
import type { NumpySettings } from './settings.ts';

export function readArrays(file: string): ReadonlyMap<string, () => NumpyArray> {
  let content: Uint8Array;
  try {
    content = contentOf(file);
  } catch (cause) {
    throw new UserError(`cannot read the NumPy file ${file}: ${reason(cause)}`, { cause });
  }
  if (/\.npz(\.gz)?$/.test(file)) return parseNpz(content, file);
  return new Map([['', () => parseNpy(content, file)]]);
}

/** Samples and their labels. */
export interface ArrayPair {
  readonly x: NumpyArray;
  readonly y: NumpyArray;
}

/** Samples and labels of a split; undefined if there is none in the files. */
export function pairOf(
  settings: NumpySettings,
  which: 'train' | 'test',
  verify: boolean | undefined,
): ArrayPair | undefined {
  const isTest = which === 'test';
  const path = isTest ? (settings.testPath ?? settings.path) : settings.path;
  const own = !isTest || settings.testPath !== undefined;
  const arrays = readArrays(ownFile(path, isTest && own ? settings.testSha256 : settings.sha256, 'NumPy file', verify));
  const labelsPath = isTest ? settings.testLabelsPath : settings.labelsPath;
  const labelsSum = isTest ? settings.testLabelsSha256 : settings.labelsSha256;
  if (!own && (arrays.has('') || ![`${settings.arrays.samples}_test`].some((name) => arrays.has(name))))
    return undefined;
  const find = (name: string): NumpyArray => {
    if (arrays.has('')) return arrays.get('')!();
    const names = [`${name}_${which}`, ...(own ? [name] : [])];
    const found = names.find((each) => arrays.has(each));
    if (found === undefined)
      throw new UserError(`${path} has no array "${names.at(-1)}"; it has ${[...arrays.keys()].join(', ')}`, {
        hint: `name the arrays with data.arrays.samples and data.arrays.labels; ${suggest(name, [...arrays.keys()])}`,
      });
    return arrays.get(found)!();
  };
  if (labelsPath === undefined && arrays.has(''))
    throw new UserError(`${path} holds one array, the samples; the labels are missing`, {
      hint: `give them as data.${isTest ? 'testLabelsPath' : 'labelsPath'}, or both in one .npz file`,
    });
  const x = find(settings.arrays.samples);
  if (labelsPath === undefined) return { x, y: find(settings.arrays.labels) };
  const labels = readArrays(ownFile(labelsPath, labelsSum, 'NumPy file', verify));
  const y = labels.get('') ?? labels.get(settings.arrays.labels);
  if (y === undefined) throw new UserError(`${labelsPath} has no array "${settings.arrays.labels}"`);
  return { x, y: y() };
}
