import { existsSync } from 'node:fs';
import {
  DOUBLE,
  type DuckDBAppender,
  type DuckDBConnection,
  type DuckDBDataChunk,
  DuckDBInstance,
  LIST,
} from '@duckdb/node-api';
import { UserError } from '../base/error.ts';
import type { EvaluationEvent, Event, NormsEvent, PerReplica, StartEvent, StepEvent } from '../engine/event.ts';

/** One table an event; lists hold a value for each replica, null for one that is lost. */
export const eventTables = `
  create table if not exists steps (
    step integer, epoch integer, connections double, learning_rate double,
    loss double[], accuracy double[], gradient_norm double[],
    distance double, controlled_distance double, target_distance double,
    gossips integer, sent_bytes double, sent_messages double,
    data_ms double, compute_ms double, mix_ms double, wait_ms double, probe_ms double);
  create table if not exists norms (step integer, tensor integer, norm double[]);
  create table if not exists evaluations (
    step integer, epoch integer, replicas double[], samples integer,
    loss double[], accuracy double[], merged_loss double, merged_accuracy double, ms double);
  create table if not exists tensors (tensor integer, name varchar, shape varchar, kind varchar, size integer);
  create table if not exists checkpoints (step integer);
`;

type Appenders = Readonly<Record<'steps' | 'norms' | 'evaluations', DuckDBAppender>>;

/** The events of one run. Appended in memory, on disk with every flush: at a checkpoint and at the end. */
export class EventStore {
  readonly #path: string;
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;
  readonly #appenders: Appenders;

  private constructor(path: string, instance: DuckDBInstance, connection: DuckDBConnection, appenders: Appenders) {
    this.#path = path;
    this.#instance = instance;
    this.#connection = connection;
    this.#appenders = appenders;
  }

  /** Only one process can have it open. */
  static async open(path: string): Promise<EventStore> {
    const instance = await openDatabase(path);
    const connection = await instance.connect();
    await connection.run(eventTables);
    const [steps, norms, evaluations] = await Promise.all(
      ['steps', 'norms', 'evaluations'].map((table) => connection.createAppender(table)),
    );
    return new EventStore(path, instance, connection, { steps: steps!, norms: norms!, evaluations: evaluations! });
  }

  /** The checkpoints up to which all events are here. */
  async checkpoints(): Promise<number[]> {
    const rows = await this.#connection.runAndReadAll('select step from checkpoints');
    return rows.getRows().map(([step]) => Number(step));
  }

  /** Forgets what happened from this step on: it is about to happen again. */
  async rewind(step: number): Promise<void> {
    await this.#connection.run(`
      delete from steps where step >= ${step};
      delete from norms where step >= ${step};
      delete from evaluations where step > ${step};
      delete from checkpoints where step > ${step};`);
  }

  async append(event: Event): Promise<void> {
    try {
      if (event.type === 'start') await this.#start(event);
      else if (event.type === 'step') this.#step(event);
      else if (event.type === 'norms') this.#norms(event);
      else if (event.type === 'evaluation') this.#evaluation(event);
      else this.#flush();
      if (event.type === 'checkpoint') await this.#connection.run(`insert into checkpoints values (${event.step})`);
    } catch (cause) {
      throw this.#failed(cause);
    }
  }

  /** The system refused, as when the disk is full; our own mistakes are no such thing. */
  #failed(cause: unknown): unknown {
    const why = refusal(cause);
    return why === undefined ? cause : new UserError(`cannot write ${this.#path}: ${why}`, { cause });
  }

  async #start({ tensors }: StartEvent): Promise<void> {
    await this.#connection.run('delete from tensors');
    const appender = await this.#connection.createAppender('tensors');
    tensors.forEach(({ name, shape, kind, size }, index) => {
      appender.appendInteger(index);
      for (const text of [name, shape.join('×'), kind]) appender.appendVarchar(text);
      appender.appendInteger(size);
      appender.endRow();
    });
    appender.closeSync();
  }

  #step(event: StepEvent): void {
    const { data, compute, mix, wait, probe } = event.ms;
    const row = new Row(this.#appenders.steps);
    row.integers(event.step, event.epoch).doubles(event.connections, event.learningRate);
    row.lists(event.loss, event.accuracy, event.gradientNorm);
    row.doubles(event.distance, event.controlledDistance, event.targetDistance).integers(event.gossips);
    row.doubles(event.sentBytes, event.sentMessages, data, compute, mix, wait, probe).end();
  }

  #norms({ step, norms }: NormsEvent): void {
    norms.forEach((values, tensor) => {
      new Row(this.#appenders.norms).integers(step, tensor).lists(values).end();
    });
  }

  #evaluation(event: EvaluationEvent): void {
    const row = new Row(this.#appenders.evaluations)
      .integers(event.step, event.epoch)
      .lists(event.replicas)
      .integers(event.samples);
    row.lists(
      event.local.map((score) => score.loss),
      event.local.map((score) => score.accuracy),
    );
    row.doubles(event.merged?.loss ?? null, event.merged?.accuracy ?? null, event.ms).end();
  }

  #flush(): void {
    for (const appender of Object.values(this.#appenders)) appender.flushSync();
  }

  close(): void {
    try {
      for (const appender of Object.values(this.#appenders)) appender.closeSync();
    } catch (cause) {
      throw this.#failed(cause);
    } finally {
      this.#connection.closeSync();
      this.#instance.closeSync();
    }
  }
}

/** Values of one row, in the order of the columns. */
class Row {
  readonly #appender: DuckDBAppender;

  constructor(appender: DuckDBAppender) {
    this.#appender = appender;
  }

  integers(...values: readonly number[]): this {
    for (const value of values) this.#appender.appendInteger(value);
    return this;
  }

  doubles(...values: readonly (number | null)[]): this {
    for (const value of values)
      if (value === null) this.#appender.appendNull();
      else this.#appender.appendDouble(value);
    return this;
  }

  lists(...values: readonly PerReplica[]): this {
    for (const value of values) this.#appender.appendList([...value], LIST(DOUBLE));
    return this;
  }

  end(): void {
    this.#appender.endRow();
  }
}

async function openDatabase(path: string): Promise<DuckDBInstance> {
  try {
    return await DuckDBInstance.create(path);
  } catch (cause) {
    if (inUse(cause))
      throw new UserError(`${path} is in use by another process`, { cause, hint: 'wait until that process has ended' });
    throw unreadable(path, cause);
  }
}

/** Why the system refused to write, where that is what happened: the appender wraps it in words of its own. */
export function refusal(cause: unknown): string | undefined {
  const [message] = (cause as Error).message.split('\n');
  if (message!.includes('No space left on device')) return 'the disk is full';
  return /^IO Error|Could not write file/.test(message!) ? message : undefined;
}

export const inUse = (cause: unknown) => (cause as Error).message.includes('Could not set lock');
export const unreadable = (path: string, cause: unknown) =>
  new UserError(`${path} cannot be read: ${(cause as Error).message.split('\n')[0]}`, { cause });

/** What can be asked of stored events. */
export interface Events {
  rows(sql: string): Promise<Record<string, unknown>[]>;
  /** The same, some thousand rows at a time: for what is too large to be held at once. */
  chunks(sql: string): AsyncGenerator<DuckDBDataChunk>;
}

/** Asks the events of a run; undefined where there are none yet, or another process is writing them. */
export async function query<T>(path: string, ask: (events: Events) => Promise<T>): Promise<T | undefined> {
  if (!existsSync(path)) return undefined;
  let instance: DuckDBInstance;
  try {
    instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' });
  } catch (cause) {
    if (inUse(cause)) return undefined;
    throw unreadable(path, cause);
  }
  const connection = await instance.connect();
  try {
    const readable = <R>(reading: Promise<R>) => reading.catch((cause) => Promise.reject(unreadable(path, cause)));
    return await ask({
      rows: async (sql) => (await readable(connection.runAndReadAll(sql))).getRowObjectsJson(),
      chunks: async function* (sql) {
        const result = await readable(connection.stream(sql));
        for (;;) {
          const chunk = await readable(result.fetchChunk());
          if (chunk === null || chunk.rowCount === 0) return;
          yield chunk;
        }
      },
    });
  } finally {
    // A connection keeps the file open and locked, whatever becomes of the instance.
    connection.closeSync();
    instance.closeSync();
  }
}
