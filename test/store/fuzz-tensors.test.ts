import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { noMemory } from '../../src/algorithm/consensus.ts';
import { UserError } from '../../src/base/error.ts';
import { Random } from '../../src/base/random.ts';
import { beginCheckpoint, finishCheckpoint, readCheckpoint, writeBlock } from '../../src/engine/checkpoint.ts';
import { mutateBytes, mutateValue } from './mutate.ts';

let folder: string;
let path: string;
let whole: Buffer;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-fuzz-'));
  beginCheckpoint(folder, 4);
  const row = () => Float32Array.of(1, 2, 3);
  const common = { consensus: noMemory };
  writeBlock(folder, { first: 0, last: 2, step: 4, common, rows: { params: row, 'opt/momentum': row, state: row } });
  finishCheckpoint(folder, 4, 1);
  path = join(folder, 'step-4', 'replicas-0-1.safetensors');
  whole = readFileSync(path);
});
afterAll(() => rmSync(folder, { recursive: true }));

function mutated(random: Random): Uint8Array {
  const length = Number(whole.readBigUInt64LE());
  if (random.below(3) === 0) return mutateBytes(whole.subarray(0, 8 + length + 8), random);
  const header = JSON.parse(whole.toString('utf8', 8, 8 + length));
  if (random.below(4) === 0) {
    const consensus = mutateValue(JSON.parse(header.__metadata__.consensus), random);
    header.__metadata__.consensus = random.below(4) === 0 ? consensus : JSON.stringify(consensus);
    return file(header);
  }
  return file(mutateValue(header, random));
}

function file(header: unknown): Uint8Array {
  const text = Buffer.from(JSON.stringify(header));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([size, text, whole.subarray(8 + Number(whole.readBigUInt64LE()))]);
}

it('a damaged checkpoint is refused in one sentence, or reads as rows of the right size', () => {
  let refused = 0;
  for (let seed = 0; seed < 3_000; seed++) {
    writeFileSync(path, mutated(new Random(seed, 'test')));
    const put = (_: number, row: Float32Array) => expect(row).toHaveLength(3);
    const reader = { length: 3, put };
    try {
      const { consensus } = readCheckpoint(
        folder,
        4,
        { first: 0, last: 2 },
        { params: reader, 'opt/momentum': reader, state: reader },
      );
      expect(Object.keys(consensus)).toEqual(Object.keys(noMemory));
      expect(consensus.gradients.meanNorm2).toBeTypeOf('number');
    } catch (error) {
      if (!(error instanceof UserError)) throw new Error(`mutation ${seed} of ${path}`, { cause: error });
      expect(error.message).not.toContain('\n');
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(1_500);
});
