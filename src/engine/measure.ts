import { createHash } from 'node:crypto';
import { squaredConsensusDistance } from '../kernel/kernel.ts';
import type { Rows } from '../kernel/memory.ts';
import type { Transport } from '../transport/transport.ts';
import type { PerReplica } from './columns.ts';

/** What is measured of rows over all replicas. Collective: every worker calls these alike and gets the same numbers. */

/** The replicas of this worker. */
export function ownReplicas({ first, last }: Pick<Transport, 'first' | 'last'>): number[] {
  return Array.from({ length: last - first }, (_, i) => first + i);
}

/** A value for each replica that is there, null for the others. */
export function perReplica(transport: Transport, value: (replica: number) => number): PerReplica {
  const all = new Array<number | null>(transport.replicas).fill(null);
  for (const i of transport.present) all[i] = value(i);
  return all;
}

/** A number of every replica that is there, from those of the own ones. */
export function gatherPresent(transport: Transport, own: Float64Array): Float64Array {
  const all = transport.gather(own, 1);
  return Float64Array.from(transport.present, (i) => all[i]!);
}

/** Ξ = √((1/n) Σ ‖x̄ − x_i‖²) */
export function consensusDistance(transport: Transport, rows: Rows): number {
  const mean = transport.mean(rows);
  const squares = Float64Array.from(ownReplicas(transport), (i) => transport.kernel.squaredDistance(rows, i, mean, 0));
  return Math.sqrt(squaredConsensusDistance(gatherPresent(transport, squares)));
}

/** L2 norm of every tensor on every replica, replica by replica; tensor t has the columns offsets[t] … offsets[t+1]−1. */
export function tensorNorms(transport: Transport, rows: Rows, offsets: readonly number[]): Float64Array {
  const width = offsets.length - 1;
  const own = ownReplicas(transport);
  const norms = new Float64Array(own.length * width);
  for (const [place, i] of own.entries())
    transport.kernel.norms(rows, i, offsets, norms.subarray(place * width, (place + 1) * width));
  return transport.gather(norms, width);
}

/** A row as an array of its own. */
export function copyOf(rows: Rows, i: number): Float32Array {
  const row = new Float32Array(rows.columns);
  rows.read(i, row);
  return row;
}

/** The exact mean over all replicas. */
export const meanOf = (transport: Transport, rows: Rows): Float32Array => copyOf(transport.mean(rows), 0);

/** SHA-256 of all rows, in replica order. */
export function digestOf(transport: Transport, rows: Rows): string {
  const own = ownReplicas(transport).map((i) => {
    const { buffer, byteOffset, byteLength } = copyOf(rows, i);
    return createHash('sha256')
      .update(new Uint8Array(buffer, byteOffset, byteLength))
      .digest();
  });
  const bytes = transport.gather(Float64Array.from(own.flatMap((digest) => [...digest])), 32);
  const there = transport.present.map((i) => Uint8Array.from(bytes.subarray(32 * i, 32 * i + 32)));
  return createHash('sha256').update(Buffer.concat(there)).digest('hex');
}
