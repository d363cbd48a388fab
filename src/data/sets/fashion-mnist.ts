import { readChecked } from '../folder.ts';
import { type Collection, dataSet } from '../set.ts';
import { sampleSettings } from '../settings.ts';
import { idxImages } from './idx-images.ts';

const sums = {
  'train-images-idx3-ubyte': [47_040_016, 'c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888'],
  'train-labels-idx1-ubyte': [60_008, 'bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9'],
  't10k-images-idx3-ubyte': [7_840_016, '5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b'],
  't10k-labels-idx1-ubyte': [10_008, '0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34'],
} as const;

const sites = [
  'https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion',
  'http://fashion-mnist.s3-website.eu-central-1.amazonaws.com',
];

const collection: Collection = {
  name: 'fashion-mnist',
  summary: 'photographs of clothes, 28×28',
  folder: 'fashion-mnist',
  files: Object.entries(sums).map(([name, [bytes, sum]]) => ({ name, bytes, checksum: `sha256:${sum}` })),
  sources: [
    {
      kind: 'web',
      what: 'the Fashion-MNIST repository',
      urls: Object.fromEntries(Object.keys(sums).map((name) => [name, sites.map((site) => `${site}/${name}.gz`)])),
    },
    {
      kind: 'debian',
      package: 'dataset-fashion-mnist',
      bytes: 30_900_652,
      folder: 'usr/share/datasets/fashion-mnist',
    },
  ],
  licence: 'MIT',
  from: 'Zalando Research',
};

export const fashionMnist = dataSet({
  name: 'fashion-mnist',
  summary: collection.summary,
  settings: sampleSettings,
  collection,
  read: (_, { folder }) => idxImages('fashion-mnist', (name) => readChecked(folder, collection, name), 0.286, 0.353),
});
