import { UserError } from '../base/error.ts';

export type Data = { [key: string]: unknown };

export const isData = (value: unknown): value is Data =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A setting of an experiment by its path, as in `learningRate.base` or `model.hidden[0]`. */
export const pathPattern = /^[\w-]+(\.[\w-]+|\[\d+\])*$/;

const keysOf = (path: string) => path.replaceAll(/\[(\d+)\]/g, '.$1').split('.');

/** The data with one setting changed; `where` says on whose behalf, for messages. */
export function setAt(data: unknown, path: string, value: unknown, where: string): unknown {
  const set = (at: unknown, [key, ...rest]: readonly string[]): unknown => {
    if (key === undefined) return value;
    if (Array.isArray(at)) {
      if (!/^\d+$/.test(key) || Number(key) >= at.length)
        throw new UserError(`${where}: there is no item ${key}, the list has ${at.length}, counted from 0`);
      return at.with(Number(key), set(at[Number(key)], rest));
    }
    const group = isData(at) ? at : {};
    const next = set(group[key], rest);
    // Another kind has other settings: those of the old one go, as in compare.
    return key === 'kind' && rest.length === 0 && group.kind !== next ? { kind: next } : { ...group, [key]: next };
  };
  return set(data, keysOf(path));
}

/** Settings by their path, as `--set` takes them; lists stay whole. */
export function flatten(settings: unknown, path = ''): Map<string, unknown> {
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings)) return new Map([[path, settings]]);
  return new Map(
    Object.entries(settings).flatMap(([key, value]) => [...flatten(value, path === '' ? key : `${path}.${key}`)]),
  );
}
