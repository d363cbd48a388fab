import { z } from 'zod';
import { sha256Setting } from '../../../base/content.ts';
import { normalizeTargets, sampleSettings, task } from '../../settings.ts';

/** Of arrays of the user's. */
export const numpySettings = {
  path: z.string().min(1).describe('samples: a .npy file, or a .npz file that may hold the labels as well'),
  sha256: sha256Setting,
  labelsPath: z.string().min(1).optional().describe('labels: a .npy file; with .npz only if they are not in it'),
  labelsSha256: sha256Setting,
  testPath: z.string().min(1).optional().describe('test samples, as path'),
  testSha256: sha256Setting,
  testLabelsPath: z.string().min(1).optional().describe('test labels, as labelsPath'),
  testLabelsSha256: sha256Setting,
  arrays: z
    .strictObject({
      samples: z.string().min(1).default('x').describe('name of the samples'),
      labels: z.string().min(1).default('y').describe('name of the labels'),
    })
    .prefault({})
    .describe('names in .npz files; x_train, y_train, x_test and y_test are found as well'),
  channels: z
    .enum(['first', 'last'])
    .default('first')
    .describe('images of several channels: [samples, channels, height, width], or the channels last'),
  testShare: z
    .number()
    .gt(0)
    .lt(1)
    .default(0.2)
    .describe('share of the samples set aside for testing, drawn by the seed; not used with test samples'),
  normalize: z
    .boolean()
    .default(true)
    .describe(
      'bring features (of images: channels) to mean 0 and standard deviation 1 over the training samples; otherwise bytes become 0 to 1 and other numbers stay',
    ),
  task,
  normalizeTargets,
  ...sampleSettings,
};
export type NumpySettings = z.output<z.ZodObject<typeof numpySettings>>;
