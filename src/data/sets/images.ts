import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readdirSync, statSync, writeSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { requireSha256, sha256Setting } from '../../base/content.ts';
import { UserError } from '../../base/error.ts';
import { makeFolders, reason, writeWholeLater } from '../../base/file.ts';
import { contentSha256 } from '../content.ts';
import { type Samples, scaleTable, sharedInts } from '../dataset.ts';
import { choose, type Split } from '../limit.ts';
import { dataSet, type ReadContext } from '../set.ts';
import { augment, sampleSettings } from '../settings.ts';

interface Listing {
  readonly paths: readonly string[];
  readonly labels: readonly number[];
}

function entries(folder: string, keep: 'folders' | 'images'): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => (keep === 'folders' ? !entry.isFile() : /\.(jpe?g|png)$/i.test(entry.name)))
      .map((entry) => entry.name)
      .filter((name) => !name.startsWith('.'))
      .sort();
  } catch (cause) {
    throw new UserError(`cannot read the folder of images ${folder}: ${reason(cause)}`, {
      cause,
      hint: 'data.path must hold train/ and val/, each with a folder of JPEG or PNG files per class',
    });
  }
}

/** All images below a folder, class by class, in the order of their names. */
function list(folder: string, classes: readonly string[]): Listing {
  const unknown = entries(folder, 'folders').find((name) => !classes.includes(name));
  if (unknown !== undefined) throw new UserError(`${join(folder, unknown)}: there is no class "${unknown}" in train/`);
  const files = classes.map((name) =>
    existsSync(join(folder, name)) ? entries(join(folder, name), 'images').map((file) => join(folder, name, file)) : [],
  );
  const paths = files.flat();
  if (paths.length === 0) throw new UserError(`${folder} holds no JPEG or PNG files in folders per class`);
  return { paths, labels: files.flatMap((own, label) => own.map(() => label)) };
}

/** Resized and cropped as usual for ImageNet: the shorter side to 8/7 of the size, then the middle square; planes R, G, B. */
async function decode(path: string, side: number): Promise<Uint8Array> {
  const { default: sharp } = await import('sharp');
  const pixels = side * side;
  try {
    const rgb = await sharp(path, { failOn: 'error' })
      .toColourspace('srgb')
      .removeAlpha()
      .resize(side, side, { fit: 'cover' })
      .raw()
      .toBuffer();
    const planes = new Uint8Array(3 * pixels);
    for (let p = 0; p < pixels; p++)
      for (let channel = 0; channel < 3; channel++) planes[channel * pixels + p] = rgb[3 * p + channel]!;
    return planes;
  } catch (cause) {
    throw new UserError(`cannot decode the image ${path}: ${(cause as Error).message.split('\n')[0]}`, {
      cause,
      hint: 'replace it or remove it',
    });
  }
}

/** Decodes all images into one file, several at a time; whole or not at all. */
async function store(
  target: string,
  paths: readonly string[],
  side: number,
  onProgress: ReadContext['onProgress'],
): Promise<void> {
  const record = 3 * side * side;
  let [next, done] = [0, 0];
  const work = async (file: number) => {
    while (next < paths.length) {
      const index = next++;
      writeSync(file, await decode(paths[index]!, side), 0, record, index * record);
      onProgress?.(++done, paths.length);
    }
  };
  await writeWholeLater(target, async (temporary) => {
    const file = openSync(temporary, 'wx');
    try {
      const workers = await Promise.allSettled(Array.from({ length: 2 * availableParallelism() }, () => work(file)));
      const failed = workers.find((worker) => worker.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
    } finally {
      closeSync(file);
    }
  });
}

/** What the decoded file depends on: the images as they are on disk, the size, and the decoder. */
async function keyOf(paths: readonly string[], side: number): Promise<string> {
  const { default: sharp } = await import('sharp');
  const hash = createHash('sha256').update(`${side} ${JSON.stringify(sharp.versions)}`);
  for (const path of paths) {
    const { size, mtimeMs } = statSync(path);
    hash.update(`\n${path}\0${size}\0${mtimeMs}`);
  }
  return hash.digest('hex').slice(0, 16);
}

export const images = dataSet({
  name: 'images',
  summary: 'JPEG or PNG files, a folder per class',
  settings: {
    path: z.string().min(1).describe('folder with train/ and val/, in each a folder of images per class'),
    sha256: sha256Setting,
    size: z.int().min(8).default(224).describe('side in pixels after cropping'),
    augment,
    ...sampleSettings,
  },
  origin: { from: 'a folder of yours', licence: 'yours' },
  async read(settings, { folder, seed, onProgress, verify = true }) {
    if (verify && settings.sha256 !== undefined) {
      const found = contentSha256(settings.path);
      // A folder that is not there is told below.
      if (found !== undefined) requireSha256(settings.path, found, settings.sha256);
    }
    const classes = entries(join(settings.path, 'train'), 'folders');
    if (classes.length < 2)
      throw new UserError(
        `${join(settings.path, 'train')} holds ${classes.length} class folders, at least 2 are needed`,
      );
    const side = Math.round((settings.size * 8) / 7);
    const shape = [3, settings.size, settings.size];
    const scale = scaleTable([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]);
    const split = async (which: Split): Promise<Samples> => {
      const all = list(join(settings.path, which === 'train' ? 'train' : 'val'), classes);
      const chosen = [...(choose(all.paths.length, settings[which], seed, which) ?? all.paths.keys())];
      const paths = chosen.map((i) => all.paths[i]!);
      const cache = join(folder, 'decoded');
      const target = join(cache, `${await keyOf(paths, side)}.bin`);
      if (!existsSync(target)) {
        try {
          makeFolders(cache);
        } catch (cause) {
          throw new UserError(`cannot keep decoded images in ${cache}: ${reason(cause)}`, {
            cause,
            hint: 'DBENCH_DATA names the folder to use',
          });
        }
        await store(target, paths, side, onProgress);
      }
      return {
        count: paths.length,
        features: { path: target },
        labels: sharedInts(chosen.map((i) => all.labels[i]!)),
        shape,
        stored: [3, side, side],
        scale,
        ...(which === 'train' && settings.augment ? { cropPadding: 0 } : {}),
      };
    };
    const train = await split('train');
    return { task: 'classification', name: 'images', shape, classes: classes.length, train, test: await split('test') };
  },
});
