import type { Action } from '../algorithm/actions.ts';
import type { RowCompressor } from '../algorithm/compressors.ts';
import type { Plan } from '../algorithm/method.ts';
import { type By, flatStages } from '../algorithm/stage.ts';
import { Random } from '../base/random.ts';
import type { Rows } from '../kernel/memory.ts';
import type { Mixing } from '../topology/mixing.ts';
import type { Transport } from '../transport/transport.ts';

/** Messages of one step draw different random numbers. */
const mostSends = 8;

/**
 * What compressed messages add up to, on the replicas themselves and on all who hear them. Threads of a process share these rows; of replicas on
 * other ranks a copy is kept, with which is done what they do themselves, so that only messages need to be sent.
 */
export class Memories {
  /** Replicas of other ranks whose memories this worker looks after. */
  heard: readonly number[] = [];
  readonly #rows: Plan['memories'];
  readonly #kept: readonly string[];
  readonly #weights: By;
  readonly #transport: Transport;
  readonly #compressor: RowCompressor | undefined;
  readonly #seed: number;
  readonly #values: Float32Array;
  readonly #memory: Float32Array;
  #listens = false;
  /** The first step that was done here, this step, and its messages so far. */
  #from: number | undefined;
  #t = 0;
  #sends = 0;

  constructor(
    plan: Plan,
    transport: Transport,
    machine: { readonly columns: number; readonly compressor: RowCompressor | undefined; readonly seed: number },
  ) {
    this.#rows = plan.memories;
    this.#kept = Object.keys(plan.rows).filter((name) => plan.memories.has(name));
    const mixed = flatStages(plan.stages).flatMap((stage) =>
      stage.do === 'mix' && plan.memories.has(stage.from) ? [stage.by] : [],
    );
    this.#weights = mixed[0] ?? 'W';
    this.#transport = transport;
    this.#compressor = machine.compressor;
    this.#seed = machine.seed;
    const columns = machine.compressor === undefined ? 0 : machine.columns;
    this.#values = new Float32Array(columns);
    this.#memory = new Float32Array(columns);
  }

  /** Whether this row of those who are heard is here without being sent. */
  knows(row: string): boolean {
    return this.#transport.hearing !== undefined && this.#rows.has(row);
  }

  /** What others do with their memories as well: whoever hears them does it, too. */
  isKept(action: Action): boolean {
    return action.do === 'set' && this.#rows.has(action.row);
  }

  /** Before the actions of a step. */
  begin(t: number, actions: readonly Action[], weights: (by: By) => Mixing, rowsOf: (name: string) => Rows): void {
    this.#t = t;
    this.#sends = 0;
    this.#from ??= t;
    const needed = actions.some(
      (action) => action.do === 'send' || (action.do === 'mix' && this.#rows.has(action.from)),
    );
    if (needed && !this.#listens) this.#listen(weights(this.#weights), this.#kept.map(rowsOf));
  }

  /** Before the first message all memories are alike, so that the own ones tell what those of others are; if a run is resumed they must be told. */
  #listen(mixing: Mixing, memories: readonly Rows[]): void {
    this.#listens = true;
    const { hearing, kernel, first } = this.#transport;
    if (hearing === undefined) return;
    this.heard = hearing.heard(mixing);
    for (const rows of memories)
      if (this.#from === 0) for (const j of this.heard) kernel.copy(rows, j, rows, first);
      else hearing.fetch(mixing, rows);
  }

  /** memory += C(row − memory): the replica decodes its own message, as those who hear it do. */
  send(row: Rows, memory: Rows, weights: (by: By) => Mixing): void {
    const compressor = this.#compressor!;
    const { hearing, first, last } = this.#transport;
    const buffer = new Uint8Array(compressor.bytes);
    const messageOf = (i: number) => hearing?.message(i) ?? buffer;
    const random = (i: number) => new Random(this.#seed, 'compress', i, mostSends * this.#t + this.#sends);
    const take = (i: number) => {
      memory.read(i, this.#memory);
      compressor.decode(messageOf(i), this.#memory, random(i));
      memory.write(i, this.#memory);
    };
    for (let i = first; i < last; i++) {
      row.read(i, this.#values);
      memory.read(i, this.#memory);
      for (let c = 0; c < this.#values.length; c++) this.#values[c]! -= this.#memory[c]!;
      compressor.encode(this.#values, messageOf(i), random(i));
      take(i);
    }
    hearing?.tell(weights(this.#weights));
    for (const j of this.heard) take(j);
    this.#sends += 1;
  }
}
