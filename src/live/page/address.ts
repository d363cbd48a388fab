/** Where the reader is and what is chosen there, as it stands in the address: it survives a reload and can be sent to others. */
export interface Whereabouts {
  readonly view: string;
  /** Which run. */
  readonly id: string;
  readonly chosen: URLSearchParams;
}

export function here(): Whereabouts {
  const [path = '', search = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const [view = '', ...rest] = path.split('/');
  return { view: view || 'runs', id: decoded(rest.join('/')), chosen: new URLSearchParams(search) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function addressOf(
  view: string,
  id = '',
  chosen: Readonly<Record<string, string>> | URLSearchParams = {},
): string {
  const search = new URLSearchParams(chosen).toString();
  return `#/${view}${id === '' ? '' : `/${encodeURIComponent(id)}`}${search === '' ? '' : `?${search}`}`;
}

/** Changes what is chosen without a step in the history; an empty value is left out. */
export function choose(changes: Readonly<Record<string, string>>): void {
  const { view, id, chosen } = here();
  for (const [key, value] of Object.entries(changes)) value === '' ? chosen.delete(key) : chosen.set(key, value);
  history.replaceState(null, '', addressOf(view, id, chosen));
}
