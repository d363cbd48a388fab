import { z } from 'zod';
import { sha256Setting } from '../../base/content.ts';
import { UserError } from '../../base/error.ts';
import { reason } from '../../base/file.ts';
import { sharedInts } from '../dataset.ts';
import { contentOf } from '../folder.ts';
import { ownFile } from '../own.ts';
import { dataSet } from '../set.ts';
import { textSettings } from '../settings.ts';
import { numberWords } from './wikitext-2.ts';

/** The text of a file, plain or .gz. */
export function textIn(file: string): string {
  let content: Uint8Array;
  try {
    content = contentOf(file);
  } catch (cause) {
    throw new UserError(`cannot read the text ${file}: ${reason(cause)}`, { cause });
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch (cause) {
    throw new UserError(`${file} is not UTF-8 text`, { cause, hint: 'convert it, as in: iconv -f latin1 -t utf-8' });
  }
  if (text.includes('\0'))
    throw new UserError(`${file} holds bytes that are no text`, { hint: 'data.path must name a text file' });
  if (text.trim() === '') throw new UserError(`${file} holds no text`);
  return text;
}

/** Numbers of the characters, in the order of their first appearance. */
function numberCharacters(text: string, numbers: Map<string, number>): Int32Array {
  const tokens: number[] = [];
  for (const character of text) {
    let number = numbers.get(character);
    if (number === undefined) numbers.set(character, (number = numbers.size));
    tokens.push(number);
  }
  return sharedInts(tokens);
}

export const text = dataSet({
  name: 'text',
  summary: 'a text file of yours, by characters or words',
  settings: {
    path: z.string().min(1).describe('a text file in UTF-8, plain or .gz'),
    sha256: sha256Setting,
    testPath: z.string().min(1).optional().describe('test text in a file of its own'),
    testSha256: sha256Setting,
    by: z.enum(['characters', 'words']).default('characters').describe('what a token is; words stand between spaces'),
    testShare: z
      .number()
      .gt(0)
      .lt(1)
      .default(0.1)
      .describe('share of the text, its end, that tests; not used with testPath'),
    ...textSettings,
  },
  origin: { from: 'a file of yours', licence: 'yours' },
  read({ path, sha256, testPath, testSha256, by, testShare }, { verify }) {
    const numbers = new Map<string, number>();
    const read = (file: string, sum: string | undefined) =>
      (by === 'words' ? numberWords : numberCharacters)(textIn(ownFile(file, sum, 'text', verify)), numbers);
    const tokens = read(path, sha256);
    const cut = Math.floor(tokens.length * (1 - testShare));
    const [train, test] =
      testPath === undefined ? [tokens.subarray(0, cut), tokens.subarray(cut)] : [tokens, read(testPath, testSha256)];
    return {
      task: 'language',
      name: 'text',
      vocabulary: [...numbers.keys()],
      train: { tokens: train },
      test: { tokens: test },
    };
  },
});
