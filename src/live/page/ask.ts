export type { Listed } from '../api.ts';

/** What the server refused, in its words. */
export class Refused extends Error {}

async function answerOf<T>(response: Response): Promise<T> {
  const answer = await response.json().catch(() => ({ error: `the server answered ${response.status}` }));
  if (response.ok) return answer as T;
  const { error, hint } = answer as { error: string; hint?: string };
  throw new Refused(hint === undefined ? error : `${error}\n${hint}`);
}

export const read = async <T>(path: string, query: Readonly<Record<string, string>> = {}): Promise<T> =>
  answerOf<T>(await fetch(`/api/${path}?${new URLSearchParams(query)}`));

export const write = async <T>(path: string, body: object): Promise<T> =>
  answerOf<T>(
    await fetch(`/api/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  );
