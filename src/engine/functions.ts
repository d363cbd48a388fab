import type { Action } from '../algorithm/actions.ts';
import { type Span, spanBytes } from '../algorithm/function.ts';
import { rowFunctions } from '../algorithm/functions.ts';
import { fromBits, putBack, taken, toBits } from '../algorithm/masks.ts';
import type { Plan } from '../algorithm/method.ts';
import { flatStages } from '../algorithm/stage.ts';
import { Random } from '../base/random.ts';
import type { Rows } from '../kernel/memory.ts';
import type { Layout } from '../model/layout.ts';
import type { Mixing } from '../topology/mixing.ts';
import type { Transport } from '../transport/transport.ts';
import { copyOf } from './measure.ts';

/** Functions of whole rows, and rows that are sent in part or packed. */
export class Functions {
  readonly #transport: Transport;
  readonly #layout: Layout;
  readonly #seed: number;
  readonly #parts = new Map<string, readonly Span[]>();
  /** Rows that are sent packed, with the row of bits that says which columns: their own name if they are such bits. */
  readonly #packed: ReadonlyMap<string, string>;
  readonly #bytes = new Map<string, number>();
  /** By row of bits and replica, of own ones and of those who are heard. */
  readonly #bits = new Map<string, Map<number, Uint8Array>>();

  constructor(plan: Plan, transport: Transport, layout: Layout, seed: number) {
    this.#packed = new Map(
      flatStages(plan.stages).flatMap((stage) => {
        const packing = stage.do === 'apply' ? rowFunctions[stage.name]!.packing : undefined;
        if (stage.do !== 'apply' || packing === undefined) return [];
        return [[stage.into, packing === 'bits' ? stage.into : stage.of[1]!]];
      }),
    );
    this.#transport = transport;
    this.#layout = layout;
    this.#seed = seed;
  }

  apply(
    { name, of, into }: Extract<Action, { do: 'apply' }>,
    rows: Readonly<Record<string, Rows>>,
    out: Rows,
    i: number,
    t: number,
    scalar: (name: string) => number,
  ): void {
    const { apply, rounds, spans, bytes } = rowFunctions[name]!;
    const given = { tensors: this.#layout, scalar, random: () => new Random(this.#seed, 'start', i, t) };
    // In place, where rows are in one piece.
    const whole = out.memory.shards.length === 1;
    if (whole && rounds !== undefined) this.#transport.kernel.round(out, i, rows[of[0]!]!, rounds(given));
    else {
      const result = whole ? (out.view(i) as Float32Array) : new Float32Array(out.columns);
      apply(given, result, ...of.map((each) => (whole ? rows[each]!.view(i) : copyOf(rows[each]!, i)) as Float32Array));
      if (!whole) out.write(i, result);
    }
    if (spans !== undefined) this.#parts.set(into, spans(given));
    if (bytes !== undefined) this.#bytes.set(into, bytes(given));
  }

  /** Whether only a part of this row is to go to other ranks. */
  sendsPart(row: string): boolean {
    return this.#transport.hearing !== undefined && this.#parts.has(row);
  }

  /** Whether this row goes to other ranks packed. */
  packs(row: string): boolean {
    return this.#transport.hearing !== undefined && this.#packed.has(row);
  }

  /** The row of each replica that is heard on this rank gets here, so that it can be mixed. */
  tell(row: string, mixing: Mixing, rows: Rows): void {
    const { hearing, first, last } = this.#transport;
    const by = this.#packed.get(row)!;
    const bits = this.#bits.get(by) ?? new Map<number, Uint8Array>();
    this.#bits.set(by, bits);
    const values = new Float32Array(rows.columns);
    for (let i = first; i < last; i++) {
      rows.read(i, values);
      if (by === row) bits.set(i, toBits(values));
      hearing!.message(i).set(by === row ? bits.get(i)! : new Uint8Array(taken(values, bits.get(i)!).buffer));
    }
    const bytes = this.#bytes.get(row)!;
    hearing!.tell(mixing, bytes);
    for (const j of hearing!.heard(mixing)) {
      const message = hearing!.message(j).slice(0, bytes);
      if (by === row) {
        bits.set(j, message);
        fromBits(message, values);
      } else putBack(new Float32Array(message.buffer), bits.get(j)!, values);
      rows.write(j, values);
    }
    // Nobody may write the next message before all have read these.
    this.#transport.barrier();
  }

  /** output_i ← what the partner of i has as its row of the input; columns that are not sent are 0. */
  handOver(row: string, partners: Mixing, input: Rows, output: Rows): void {
    const { hearing, first, last } = this.#transport;
    const spans = this.#parts.get(row)!;
    const values = new Float32Array(input.columns);
    const message = (i: number) => {
      const { buffer, byteOffset } = hearing!.message(i);
      return new Float32Array(buffer, byteOffset, spanBytes(spans) / 4);
    };
    for (let i = first; i < last; i++) {
      input.read(i, values);
      let at = 0;
      for (const [from, to] of spans) {
        message(i).set(values.subarray(from, to), at);
        at += to - from;
      }
    }
    hearing!.tell(partners, spanBytes(spans));
    for (let i = first; i < last; i++) {
      const heard = message(partners.source[i]!);
      values.fill(0);
      let at = 0;
      if (partners.weight[i] !== 0)
        for (const [from, to] of spans) {
          values.set(heard.subarray(at, at + to - from), from);
          at += to - from;
        }
      output.write(i, values);
    }
    // Nobody may write the next message before all have read these.
    this.#transport.barrier();
  }
}
