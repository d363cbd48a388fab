import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Event } from '../engine/event.ts';
import { resolve } from '../experiment/experiment.ts';
import { machineContext } from '../store/context.ts';
import { EventStore } from '../store/database.ts';
import { createRun, type Run, readContext } from '../store/runs.ts';
import { crc32c, writeTensorBoard } from './tensorboard.ts';

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'dbench-tensorboard-'));
});
afterAll(() => rmSync(root, { recursive: true }));

/** CRC-32C by its definition, a bit at a time and unreflected, so that it shares nothing with what it checks. */
function checksum(bytes: Uint8Array): number {
  const mirror = (value: number, bits: number) =>
    Number.parseInt([...value.toString(2).padStart(bits, '0')].reverse().join(''), 2);
  let crc = 0xffffffffn;
  for (const byte of bytes) {
    crc ^= BigInt(mirror(byte, 8)) << 24n;
    for (let bit = 0; bit < 8; bit++) {
      crc <<= 1n;
      if (crc >> 32n) crc ^= 0x11edc6f41n;
    }
  }
  return mirror(Number(crc ^ 0xffffffffn), 32);
}

/** Fields of a protobuf message by number, decoded by hand. */
function fields(bytes: Buffer): Map<number, (number | Buffer)[]> {
  const found = new Map<number, (number | Buffer)[]>();
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++]!;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  const take = (length: number) => bytes.subarray(at, (at += length));
  while (at < bytes.length) {
    const key = varint();
    const kind = key & 7;
    const value =
      kind === 0 ? varint() : kind === 1 ? take(8).readDoubleLE() : kind === 5 ? take(4).readFloatLE() : take(varint());
    found.set(key >> 3, [...(found.get(key >> 3) ?? []), value]);
  }
  return found;
}

/** The records of a TFRecord file, with both checksums checked. */
function records(file: string): Buffer[] {
  const bytes = readFileSync(file);
  const unmasked = (stored: number) => {
    const rotated = (stored - 0xa282ead8 + 2 ** 32) % 2 ** 32;
    return (rotated % 2 ** 17) * 2 ** 15 + Math.floor(rotated / 2 ** 17);
  };
  const found: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = Number(bytes.readBigUInt64LE(at));
    const data = bytes.subarray(at + 12, at + 12 + length);
    expect(unmasked(bytes.readUInt32LE(at + 8))).toBe(checksum(bytes.subarray(at, at + 8)));
    expect(unmasked(bytes.readUInt32LE(at + 12 + length))).toBe(checksum(data));
    found.push(data);
    at += 16 + length;
  }
  return found;
}

const step = (index: number, loss: number[]): Event => ({
  type: 'step',
  step: index,
  epoch: 0,
  connections: 2,
  learningRate: 0.5,
  loss,
  accuracy: [0.25, 0.75],
  gradientNorm: [],
  distance: index === 0 ? null : 3,
  replicaDistance: null,
  round: 0,
  controlledDistance: null,
  targetDistance: null,
  estimatedDistance: null,
  threshold: null,
  harm: null,
  period: null,
  branch: null,
  gossips: 1,
  ownSteps: null,
  staleness: null,
  sentBytes: 100,
  sentMessages: 2,
  virtualStart: null,
  virtualComputed: null,
  virtualFinished: null,
  ms: { data: 100, compute: 200, mix: 300, wait: 400, probe: 500 },
});

function start(name: string): Run {
  const settings = { data: { kind: 'mnist' }, model: { kind: 'mlp' }, batch: 4, epochs: 2 };
  const [experiment] = resolve({ name, replicas: 2, learningRate: { base: 0.1 }, ...settings }, 'test');
  return createRun(join(root, 'runs'), experiment!, machineContext(1, { name: 'onnx', version: '1.2.3' }));
}

it('knows the published check value of CRC-32C', () => {
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283);
  expect(checksum(Buffer.from('123456789'))).toBe(0xe3069283);
});

it('event files hold every scalar with its step and time', async () => {
  const run = start('told');
  const store = await EventStore.open(run.database);
  const events: Event[] = [
    step(0, [1, 3]),
    {
      type: 'norms',
      step: 0,
      norms: [
        [1, 1],
        [0, 1],
      ],
    },
    step(1, [Number.NaN, 1]),
    {
      type: 'evaluation',
      step: 2,
      epoch: 1,
      replicas: [0, 1],
      samples: 10,
      local: [
        { loss: 1, accuracy: 0.5 },
        { loss: 2, accuracy: 1 },
      ],
      train: null,
      merged: null,
      ms: 250,
      virtualSeconds: null,
      mergedVirtualSeconds: null,
    },
  ];
  for (const event of events) await store.append(event);
  store.close();
  const empty = start('empty');
  const { files, problems } = await writeTensorBoard([run, empty], join(root, 'board'));
  expect(problems).toEqual([`${empty.id} has no events yet`]);
  expect(files).toHaveLength(1);
  expect(dirname(files[0]!)).toBe(join(root, 'board', run.id));
  expect(files[0]).toContain('tfevents');

  const [version, ...told] = records(files[0]!).map(fields);
  expect(String(version!.get(3)![0])).toBe('brain.Event:2');
  const started = Date.parse(readContext(run).startedAt) / 1000;
  const points = told.map((event) => {
    const values = fields(event.get(5)![0] as Buffer)
      .get(1)!
      .map((value) => fields(value as Buffer));
    return {
      step: event.get(2)![0],
      seconds: (event.get(1)![0] as number) - started,
      values: Object.fromEntries(values.map((value) => [String(value.get(1)![0]), value.get(2)![0]])),
    };
  });
  const both = {
    'train/accuracy': 0.5,
    'train/learning_rate': 0.5,
    'topology/connections': 2,
    'topology/gossips': 1,
  };
  expect(points).toEqual([
    {
      step: 1,
      seconds: expect.closeTo(1.5, 5),
      values: {
        ...both,
        'train/loss': 2,
        'topology/sent_bytes': 100,
        // Of two tensors: 0 where the replicas are equal, ½ for norms 0 and 1.
        'variance/gini': 0.25,
        'variance/coefficient_of_variation': 0.5,
        'variance/index_of_dispersion': 0.25,
        'variance/quartile_coefficient': 0.5,
      },
    },
    {
      step: 2,
      seconds: expect.closeTo(3.25, 5),
      values: {
        ...both,
        'train/loss': Number.NaN,
        'topology/sent_bytes': 200,
        'variance/distance': 3,
        'test/loss': 1.5,
        'test/accuracy': 0.75,
        'test/accuracy_min': 0.5,
        'test/accuracy_max': 1,
      },
    },
  ]);
});
