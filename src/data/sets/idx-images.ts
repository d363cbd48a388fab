import { type Classification, type Samples, scaleTable, sharedBytes, sharedInts } from '../dataset.ts';
import { parseIdx } from '../idx.ts';

/** MNIST and its relatives: four idx files of grey 28×28 images in ten classes. */
export const idxNames = {
  train: ['train-images-idx3-ubyte', 'train-labels-idx1-ubyte'],
  test: ['t10k-images-idx3-ubyte', 't10k-labels-idx1-ubyte'],
} as const;

export function idxImages(
  name: string,
  read: (file: string) => Buffer,
  mean: number,
  std: number,
  groups: { readonly train?: Int32Array; readonly test?: Int32Array } = {},
): Classification {
  const scale = scaleTable([mean], [std]);
  const shape = [1, 28, 28] as const;
  const split = (which: 'train' | 'test'): Samples => {
    const [images, labels] = idxNames[which].map((file) => parseIdx(read(file), file));
    const features = sharedBytes(images!.values.length);
    features.set(images!.values);
    const own = groups[which];
    return {
      count: labels!.values.length,
      features,
      labels: sharedInts(labels!.values),
      shape,
      scale,
      ...(own === undefined ? {} : { groups: sharedInts(own) }),
    };
  };
  return { task: 'classification', name, shape, classes: 10, train: split('train'), test: split('test') };
}
