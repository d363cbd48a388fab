import { sharedInts, type Text, type Tokens } from '../dataset.ts';
import { readChecked } from '../folder.ts';
import { type Collection, dataSet } from '../set.ts';
import { textSettings } from '../settings.ts';

const collection: Collection = {
  name: 'shakespeare',
  summary: 'plays by characters, with their speakers',
  folder: 'tinyshakespeare',
  files: [
    {
      name: 'input.txt',
      bytes: 1_115_394,
      checksum: 'sha256:86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed',
    },
  ],
  sources: [
    {
      kind: 'web',
      what: 'the char-rnn repository',
      urls: {
        'input.txt': ['https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt'],
      },
    },
  ],
  licence: 'public domain',
  from: 'Karpathy, 2015',
};

/** Where each utterance begins and who speaks: a heading `NAME:` on a line of its own after an empty line, spelled in any case. */
export function utterancesOf(text: string): { start: number; speaker: string }[] {
  return [...text.matchAll(/(?<=^|\n\n)([^\n]+):\n/g)].map((found) => ({
    start: found.index,
    speaker: found[1]!.toUpperCase().replaceAll(/ +/g, ' '),
  }));
}

/** The first nine tenths train and the last one tests, as nanoGPT divides it. */
export function shakespeareOf(text: string): Text {
  const vocabulary = [...new Set(text)].sort();
  const numbers = new Map(vocabulary.map((character, number) => [character, number]));
  const tokens = Int32Array.from(text, (character) => numbers.get(character)!);
  const utterances = utterancesOf(text);
  const speakers = [...new Set(utterances.map(({ speaker }) => speaker))];
  const speakerNumbers = new Map(speakers.map((speaker, number) => [speaker, number]));
  const cut = Math.floor(text.length * 0.9);
  const split = (from: number, to: number): Tokens => {
    const own = utterances.filter(({ start }) => start >= from && start < to);
    return {
      tokens: sharedInts(tokens.subarray(from, to)),
      utterances: {
        starts: sharedInts([...own.map(({ start }) => start - from), to - from]),
        speakers: sharedInts(own.map(({ speaker }) => speakerNumbers.get(speaker)!)),
      },
    };
  };
  return {
    task: 'language',
    name: 'shakespeare',
    vocabulary,
    speakers,
    train: split(0, cut),
    test: split(cut, text.length),
  };
}

export const shakespeare = dataSet({
  name: 'shakespeare',
  summary: collection.summary,
  settings: textSettings,
  collection,
  read: (_, { folder }) => shakespeareOf(readChecked(folder, collection, 'input.txt').toString('latin1')),
});
