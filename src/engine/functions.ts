import type { Action } from '../algorithm/actions.ts';
import { type Span, spanBytes } from '../algorithm/function.ts';
import { rowFunctions } from '../algorithm/functions.ts';
import { Random } from '../base/random.ts';
import type { Rows } from '../kernel/memory.ts';
import type { Layout } from '../model/layout.ts';
import type { Mixing } from '../topology/mixing.ts';
import type { Transport } from '../transport/transport.ts';
import { copyOf } from './measure.ts';

/** Functions of whole rows, and rows of which only some columns are sent. */
export class Functions {
  readonly #transport: Transport;
  readonly #layout: Layout;
  readonly #seed: number;
  readonly #parts = new Map<string, readonly Span[]>();

  constructor(transport: Transport, layout: Layout, seed: number) {
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
    const { apply, spans } = rowFunctions[name]!;
    const given = { tensors: this.#layout, scalar, random: () => new Random(this.#seed, 'start', i, t) };
    const result = new Float32Array(out.columns);
    apply(given, result, ...of.map((each) => copyOf(rows[each]!, i)));
    out.write(i, result);
    if (spans !== undefined) this.#parts.set(into, spans(given));
  }

  /** Whether only a part of this row is to go to other ranks. */
  sendsPart(row: string): boolean {
    return this.#transport.hearing !== undefined && this.#parts.has(row);
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
