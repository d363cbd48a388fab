import { contentOf } from '../../src/data/folder.ts';

const file = (name: string) => contentOf(new URL(`../../vendor/mnist/${name}-ubyte.gz`, import.meta.url).pathname);

export interface Images {
  /** 28×28 each, normalised. */
  readonly pixels: Float32Array;
  readonly labels: Int32Array;
}

/** The idx files of the installation, with MNIST's usual mean and deviation. */
export function mnist(part: 'train' | 't10k'): Images {
  const images = file(`${part}-images-idx3`).subarray(16);
  return {
    pixels: Float32Array.from(images, (value) => (value / 255 - 0.1307) / 0.3081),
    labels: Int32Array.from(file(`${part}-labels-idx1`).subarray(8)),
  };
}

/** The images at the given places. */
export function gather({ pixels, labels }: Images, places: ArrayLike<number>, size = 784) {
  const x = new Float32Array(places.length * size);
  for (let i = 0; i < places.length; i++) x.set(pixels.subarray(places[i]! * size, (places[i]! + 1) * size), i * size);
  return { x, labels: Int32Array.from(places, (place) => labels[place]!) };
}

/** 28×28 grey → 3×32×32, for networks made for CIFAR. */
export function asCifar({ pixels, labels }: Images, count: number): Images {
  const padded = new Float32Array(count * 3072).fill(pixels[0]!);
  for (let i = 0; i < count; i++)
    for (let channel = 0; channel < 3; channel++)
      for (let row = 0; row < 28; row++)
        padded.set(
          pixels.subarray(i * 784 + row * 28, i * 784 + (row + 1) * 28),
          i * 3072 + channel * 1024 + (row + 2) * 32 + 2,
        );
  return { pixels: padded, labels: labels.subarray(0, count) };
}
