import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { closeFeatureFiles, fillBatch } from '../batch.ts';
import type { Classification } from '../dataset.ts';
import { loadData } from '../load.ts';
import { dataSchema } from '../schema.ts';

let root: string;
const path = (...parts: string[]) => join(root, ...parts);

/** A picture in one colour. */
async function paint(file: string, colour: object, options: { grey?: boolean; alpha?: boolean } = {}) {
  mkdirSync(join(file, '..'), { recursive: true });
  const image = sharp({
    create: { width: 40, height: 24, channels: options.alpha ? 4 : 3, background: colour as never },
  });
  await (options.grey ? image.greyscale() : image).toFile(file);
}

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'dbench-images-'));
  await paint(path('set/train/cat/b.png'), { r: 255, g: 0, b: 0 });
  await paint(path('set/train/cat/a.JPEG'), { r: 0, g: 0, b: 0 });
  await paint(path('set/train/dog/a.png'), { r: 0, g: 255, b: 0, alpha: 1 }, { alpha: true });
  await paint(path('set/train/dog/b.png'), { r: 128, g: 128, b: 128 }, { grey: true });
  await paint(path('set/val/dog/c.jpg'), { r: 255, g: 255, b: 255 });
});
afterAll(() => {
  closeFeatureFiles();
  rmSync(root, { recursive: true });
});

const load = async (settings: object = {}) =>
  (await loadData(dataSchema.parse({ kind: 'images', path: path('set'), size: 14, ...settings }), {
    seed: 1,
    folder: path('cache'),
  })) as Classification;

describe('images', () => {
  it('are decoded once, in the order of their names, whatever their colours are coded in', async () => {
    const set = await load();
    expect(set).toMatchObject({
      classes: 2,
      shape: [3, 14, 14],
      train: { count: 4, stored: [3, 16, 16] },
      test: { count: 1 },
    });
    expect([...set.train.labels]).toEqual([0, 0, 1, 1]);
    expect([...set.test.labels]).toEqual([1]);
    const x = new Float32Array(4 * 588);
    fillBatch(set.train, [0, 1, 2, 3], x, new Int32Array(4));
    const byte = (sample: number, channel: number) => {
      const value = x[sample * 588 + channel * 196 + 100]!;
      return Math.abs(Math.round(255 * (value * [0.229, 0.224, 0.225][channel]! + [0.485, 0.456, 0.406][channel]!)));
    };
    const colours = [0, 1, 2, 3].map((sample) => [0, 1, 2].map((channel) => byte(sample, channel)));
    expect(colours).toEqual([
      [0, 0, 0],
      [255, 0, 0],
      [0, 255, 0],
      [128, 128, 128],
    ]);
    const kept = readdirSync(path('cache/decoded'));
    expect(kept).toHaveLength(2);
    expect(await load()).toEqual(set);
    expect(readdirSync(path('cache/decoded'))).toEqual(kept);
  });

  it('are chosen before they are decoded', async () => {
    const set = await load({ train: 2 });
    expect([set.train.count, set.train.labels.length]).toEqual([2, 2]);
  });

  it('that cannot be decoded are named, and nothing is left behind', async () => {
    const bad = path('set/train/cat/c.jpg');
    writeFileSync(bad, 'no picture');
    const before = readdirSync(path('cache/decoded'));
    try {
      await expect(load()).rejects.toThrow(`cannot decode the image ${bad}`);
      expect(readdirSync(path('cache/decoded'))).toEqual(before);
    } finally {
      rmSync(bad);
    }
  });

  it('need folders of classes', async () => {
    await expect(load({ path: path('nothing') })).rejects.toThrow(/cannot read the folder of images .*train: no such/);
    await expect(load({ path: path('set/train') })).rejects.toThrow(/no such file or folder/);
    mkdirSync(path('set/val/horse'));
    try {
      await expect(load()).rejects.toThrow('there is no class "horse" in train/');
    } finally {
      rmSync(path('set/val/horse'), { recursive: true });
    }
  });
});
