import type { Plan } from '../algorithm/method.ts';
import type { Rows } from '../kernel/memory.ts';
import type { Attendance } from '../network/faults/presence.ts';
import type { ChurnSettings } from '../network/faults/settings.ts';
import type { Mixing } from '../topology/mixing.ts';
import type { Transport } from '../transport/transport.ts';
import { copyOf } from './measure.ts';
import type { Replicas } from './replicas.ts';
import { startRows } from './start.ts';

/** What a worker's replicas keep from step to step, by name. */
export interface Holdings {
  rows(): (readonly [name: string, rows: Rows])[];
  numbers(): (readonly [name: string, own: Float64Array])[];
  readonly model: Rows;
  /** A matrix that holds nothing. */
  readonly spare: Rows;
  readonly plan: Plan;
}

/** Own replicas that take no part in a step: what they have is put back after it, wherever its rows have moved. */
export function putAside(
  { rows, numbers }: Holdings,
  { first, last }: Transport,
  absent: readonly number[],
): () => void {
  const own = absent.filter((i) => i >= first && i < last);
  if (own.length === 0) return () => {};
  const [kept, values] = [
    rows().map(([, each]) => own.map((i) => copyOf(each, i))),
    numbers().map(([, each]) => own.map((i) => each[i - first]!)),
  ];
  return () => {
    for (const [r, [, each]] of rows().entries())
      for (const [place, i] of own.entries()) each.write(i, kept[r]![place]!);
    for (const [k, [, each]] of numbers().entries())
      for (const [place, i] of own.entries()) each[i - first] = values[k]![place]!;
  };
}

/** W that hands the mean of some replicas to another, and leaves all others as they are. */
function meansFor(n: number, returned: Attendance['returned']): Mixing {
  const from = new Map(returned.map((each) => [each.replica, each.from]));
  const rows = Array.from({ length: n }, (_, i) => (from.get(i)?.length ? from.get(i)! : [i]));
  const start = new Int32Array(n + 1);
  for (const [i, row] of rows.entries()) start[i + 1] = start[i]! + row.length;
  return {
    n,
    start,
    source: Int32Array.from(rows.flat()),
    weight: Float64Array.from(rows.flatMap((row) => row.map(() => 1 / row.length))),
  };
}

/**
 * Those who come back: with the mean of their neighbours' models or the first parameters, and all else as at the start; or with what they had. The
 * optimizer's state is zero. Collective.
 */
export function bringBack(
  kept: Holdings,
  transport: Transport,
  replicas: Replicas,
  returned: Attendance['returned'],
  back: ChurnSettings['back'],
  seed: number,
): void {
  if (returned.length === 0) return;
  const { first, last } = transport;
  const { spare, model, plan } = kept;
  if (back === 'mean') transport.mix(meansFor(transport.replicas, returned), model, spare);
  const start = startRows(replicas.layout, seed);
  for (const { replica: i, from } of returned) {
    if (i < first || i >= last) continue;
    for (const [name, row] of Object.entries(replicas.privateRows(i))) if (name !== 'state') row.fill(0);
    if (back === 'own' || (back === 'mean' && from.length === 0)) continue;
    const x = back === 'mean' ? copyOf(spare, i) : start.x;
    for (const [name, rows] of kept.rows()) {
      const begin = plan.rows[name] ?? 'x';
      rows.write(i, begin === 'x' ? x : start[begin]);
    }
    for (const [name, own] of kept.numbers()) own[i - first] = plan.numbers[name]!;
  }
  transport.barrier();
}
