import { sharedInts } from '../dataset.ts';
import { readChecked } from '../folder.ts';
import { type Collection, dataSet } from '../set.ts';
import { textSettings } from '../settings.ts';

const site = 'https://raw.githubusercontent.com/pytorch/examples/main/word_language_model/data/wikitext-2';
const file = (name: string, bytes: number, sum: string) => ({ name, bytes, checksum: `sha256:${sum}` });

const collection: Collection = {
  name: 'wikitext-2',
  summary: 'Wikipedia articles by words',
  folder: 'wikitext-2',
  files: [
    file('train.txt', 10_797_148, '9e9fa1ad55b1c2c95b08e37dd8e653f638fac2c6de904b79e813611eefbc985f'),
    file('test.txt', 1_256_449, 'd790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0'),
  ],
  sources: [
    {
      kind: 'web',
      what: 'the PyTorch examples',
      urls: Object.fromEntries(['train.txt', 'test.txt'].map((name) => [name, [`${site}/${name}`]])),
    },
  ],
  licence: 'CC BY-SA',
  from: 'Merity et al., 2016',
};

/** Words between white space and one <eos> per line, numbered in the order of their first appearance. */
export function numberWords(text: string, numbers: Map<string, number>): Int32Array {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const tokens: number[] = [];
  const add = (word: string) => {
    let number = numbers.get(word);
    if (number === undefined) numbers.set(word, (number = numbers.size));
    tokens.push(number);
  };
  for (const line of lines) {
    for (const word of line.split(' ')) if (word !== '') add(word);
    add('<eos>');
  }
  return sharedInts(tokens);
}

export const wikitext2 = dataSet({
  name: 'wikitext-2',
  summary: collection.summary,
  settings: textSettings,
  collection,
  read(_, { folder }) {
    const numbers = new Map<string, number>();
    const read = (name: string) => ({
      tokens: numberWords(readChecked(folder, collection, name).toString(), numbers),
    });
    const [train, test] = [read('train.txt'), read('test.txt')];
    return { task: 'language', name: 'wikitext-2', vocabulary: [...numbers.keys()], train, test };
  },
});
