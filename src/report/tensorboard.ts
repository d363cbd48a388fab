import { join } from 'node:path';
import protobuf from 'protobufjs';
import { makeFolder, writeWhole } from '../base/file.ts';
import { type Run, readContext } from '../store/runs.ts';
import { withTables } from '../store/tables.ts';

/**
 * The part of TensorFlow's event files that scalars need; field numbers as in event.proto and summary.proto.
 * https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/util/event.proto
 */
const { root } = protobuf.parse(
  `
  syntax = "proto3";
  message Value { string tag = 1; optional float simple_value = 2; }
  message Summary { repeated Value value = 1; }
  message Event { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; }
  `,
  { keepCase: true },
);
const eventType = root.lookupType('Event');

interface Point {
  /** Steps done. */
  readonly step: number;
  /** Since the start of the run. */
  readonly seconds: number;
  readonly values: Readonly<Record<string, number | null>>;
}

/** CRC-32C (Castagnoli), a byte at a time: polynomial 0x1EDC6F41, reflected. */
const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  return crc;
});

export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = table[(crc ^ byte) & 0xff]! ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** TFRecord stores checksums of data that may hold checksums: rotated by 15 bits, plus a constant. */
const masked = (crc: number) => (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;

/** One record of a TFRecord file: length, its checksum, the data, their checksum. */
function framed(data: Uint8Array): Uint8Array {
  const record = Buffer.alloc(data.length + 16);
  record.writeBigUInt64LE(BigInt(data.length));
  record.writeUInt32LE(masked(crc32c(record.subarray(0, 8))), 8);
  record.set(data, 12);
  record.writeUInt32LE(masked(crc32c(data)), data.length + 12);
  return record;
}

const encoded = (event: Record<string, unknown>) => framed(eventType.encode(eventType.create(event)).finish());

/** An event file that TensorBoard reads: a record for each point, with those values that were measured. */
function eventFile(startedSeconds: number, points: readonly Point[]): Uint8Array {
  const records = points.map(({ step, seconds, values }) => {
    const measured = Object.entries(values).filter(([, value]) => value !== null);
    const value = measured.map(([tag, each]) => ({ tag, simple_value: each }));
    return encoded({ wall_time: startedSeconds + seconds, step, summary: { value } });
  });
  return Buffer.concat([encoded({ wall_time: startedSeconds, file_version: 'brain.Event:2' }), ...records]);
}

/** Every scalar over the steps of each run: its tag, and SQL over a row of the table. */
const tags = {
  steps: {
    'train/loss': 'loss',
    'train/accuracy': 'accuracy',
    'train/gradient_norm': 'gradient_norm',
    'train/learning_rate': 'learning_rate',
    'topology/connections': 'connections',
    'topology/gossips': 'gossips',
    'topology/sent_bytes': 'sum(sent_bytes) over (partition by run order by step)',
    'variance/distance': 'distance',
  },
  dispersion: {
    'variance/gini': 'avg(gini)',
    'variance/coefficient_of_variation': 'avg(coefficient_of_variation)',
    'variance/index_of_dispersion': 'avg(index_of_dispersion)',
    'variance/quartile_coefficient': 'avg(quartile_coefficient)',
  },
  evaluations: {
    'test/loss': 'loss',
    'test/accuracy': 'accuracy',
    'test/accuracy_min': 'accuracy_min',
    'test/accuracy_max': 'accuracy_max',
    'test/merged_loss': 'merged_loss',
    'test/merged_accuracy': 'merged_accuracy',
  },
} as const;

const selected = (of: Readonly<Record<string, string>>) => Object.entries(of).map(([tag, sql]) => `${sql} as "${tag}"`);

/** Steps count from 1 here, so that step s and an evaluation after s steps stand at the same place. */
const question = `
  with
    training as (
      select run, step + 1 as step, ms as step_ms, ${selected(tags.steps)}
      from steps),
    variance as (select run, step + 1 as step, ${selected(tags.dispersion)} from dispersion group by run, step),
    testing as (select run, step, ms, ${selected(tags.evaluations)} from evaluations)
  select run, step, sum(coalesce(step_ms, 0) + coalesce(ms, 0)) over (partition by run order by step) / 1000 as seconds,
    columns(* exclude (run, step, step_ms, ms))
  from training full join variance using (run, step) full join testing using (run, step)
  order by run, step`;

export interface TensorBoardFiles {
  readonly files: readonly string[];
  /** Runs without a file, and why. */
  readonly problems: readonly string[];
}

/**
 * Writes the scalars of each run to an event file in a folder of its own below `folder`, for `tensorboard --logdir folder`. Wall time is
 * the start of the run plus the time of its steps and evaluations, without what passed while it was interrupted.
 */
export async function writeTensorBoard(runs: readonly Run[], folder: string): Promise<TensorBoardFiles> {
  return withTables(runs, async (tables) => {
    const points = new Map<string, Point[]>(runs.map(({ id }) => [id, []]));
    for (const { run, step, seconds, ...values } of (await tables.ask(question)).rows)
      points
        .get(run as string)!
        .push({ step: Number(step), seconds: Number(seconds), values: values as Point['values'] });
    const files = runs.flatMap((run) => {
      const own = points.get(run.id)!;
      if (own.length === 0) return [];
      const startedSeconds = Date.parse(readContext(run).startedAt) / 1000;
      // TensorBoard looks for "tfevents" in the name; the same run gives the same name.
      const file = join(folder, run.id, `events.out.tfevents.${Math.floor(startedSeconds)}.dbench`);
      makeFolder(join(folder, run.id));
      writeWhole(file, eventFile(startedSeconds, own));
      return [file];
    });
    return { files, problems: tables.problems };
  });
}
