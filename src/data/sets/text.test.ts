import { describe, expect, it } from 'vitest';
import { limitTokens } from '../limit.ts';
import { shakespeareOf, utterancesOf } from './shakespeare.ts';
import { numberWords } from './wikitext-2.ts';

describe('wikitext-2', () => {
  it('numbers words in the order of their appearance, with one <eos> a line', () => {
    const numbers = new Map<string, number>();
    expect([...numberWords(' \n = A = \n a  b a\n', numbers)]).toEqual([0, 1, 2, 1, 0, 3, 4, 3, 0]);
    expect([...numbers.keys()]).toEqual(['<eos>', '=', 'A', 'a', 'b']);
    expect([...numberWords('b new', numbers)]).toEqual([4, 5, 0]);
  });
});

describe('shakespeare', () => {
  const text =
    'First Citizen:\nSpeak: now.\n\nAll:\nSpeak,\nspeak.\n\nfirst  citizen:\nYes:\n\nALL:\nNo more of this.\n';

  it('knows who speaks', () => {
    expect(utterancesOf(text).map(({ speaker }) => speaker)).toEqual(['FIRST CITIZEN', 'ALL', 'FIRST CITIZEN', 'ALL']);
  });

  it('is characters in alphabetical order; the last tenth tests', () => {
    const { vocabulary, speakers, train, test } = shakespeareOf(text);
    const read = (tokens: Int32Array) => [...tokens].map((token) => vocabulary[token]).join('');
    expect(vocabulary).toEqual([...vocabulary].sort());
    expect(read(train.tokens) + read(test.tokens)).toBe(text);
    expect(train.tokens).toHaveLength(Math.floor(text.length * 0.9));
    expect(speakers).toEqual(['FIRST CITIZEN', 'ALL']);
    const { starts, speakers: who } = train.utterances!;
    expect([...who]).toEqual([0, 1, 0, 1]);
    expect(read(train.tokens.subarray(starts[1], starts[2]))).toBe('All:\nSpeak,\nspeak.\n\n');
    expect(starts.at(-1)).toBe(train.tokens.length);
  });

  it('can be cut to its beginning, utterances too', () => {
    const { train } = shakespeareOf(text);
    const short = limitTokens(train, 30, 'train');
    expect(short.tokens).toEqual(train.tokens.subarray(0, 30));
    expect([...short.utterances!.starts]).toEqual([0, 28, 30]);
    expect([...short.utterances!.speakers]).toEqual([0, 1]);
    expect(() => limitTokens(train, 1000, 'train')).toThrow('data.train: 1,000 tokens wanted, there are 82');
  });
});
