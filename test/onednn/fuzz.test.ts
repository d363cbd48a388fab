import { describe, expect, it } from 'vitest';
import { onednn } from '../../src/onednn/backend.ts';
import { onnx } from '../../src/onnx/backend.ts';
import { noOneDnn } from '../backends.ts';
import { apart, outputsOf, randomStep } from './fuzz.ts';

/** A few of what scripts/fuzz-onednn.ts tries by the thousand. */
describe.skipIf(noOneDnn !== undefined)(`random training steps${noOneDnn ? ` (${noOneDnn})` : ''}`, () => {
  it('are what onnxruntime makes of them', async () => {
    for (let seed = 1; seed <= 200; seed++) {
      const { program, inputs } = randomStep(seed);
      const wanted = await outputsOf(onnx, program, inputs);
      const [name, distance] = apart(await outputsOf(onednn, program, inputs), wanted);
      expect(distance, `seed ${seed}, ${name}`).toBeLessThan(0.01);
    }
  });
});
