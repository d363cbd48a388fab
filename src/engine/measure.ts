import { createHash } from 'node:crypto';
import { squaredConsensusDistance } from '../kernel/kernel.ts';
import type { Rows } from '../kernel/memory.ts';
import { heardIn } from '../topology/cohort.ts';
import { entriesIn, type Mixing } from '../topology/mixing.ts';
import type { Transport } from '../transport/transport.ts';
import type { PerReplica } from './columns.ts';
import type { EdgesEvent } from './event.ts';

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

/** ‖x̄ − x_i‖² of every replica that is there. */
function squaredDistances(transport: Transport, rows: Rows): Float64Array {
  const mean = transport.mean(rows);
  const squares = Float64Array.from(ownReplicas(transport), (i) => transport.kernel.squaredDistance(rows, i, mean, 0));
  return gatherPresent(transport, squares);
}

/** Ξ = √((1/n) Σ ‖x̄ − x_i‖²) */
export const consensusDistance = (transport: Transport, rows: Rows): number =>
  Math.sqrt(squaredConsensusDistance(squaredDistances(transport, rows)));

/** Ξ and what it is made of. */
export function distances(
  transport: Transport,
  rows: Rows,
): { readonly distance: number; readonly replicaDistance: PerReplica } {
  const squares = squaredDistances(transport, rows);
  const all = new Array<number | null>(transport.replicas).fill(null);
  for (const [place, i] of transport.present.entries()) all[i] = Math.sqrt(squares[place]!);
  return { distance: Math.sqrt(squaredConsensusDistance(squares)), replicaDistance: all };
}

/** More edges of a round than these are not measured: it would take longer than the step. */
const mostEdges = 4096;

/** The connections of a round, and how they are measured. */
interface Edges {
  readonly source: readonly number[];
  readonly replica: readonly number[];
  /** Whom each replica is compared with, at most `width` others: two that hear each other are compared once. */
  readonly compared: readonly (readonly number[])[];
  readonly width: number;
  /** Where the distance of each edge is, of all that are measured. */
  readonly place: readonly number[];
  /** The k-th of those whom each replica hears, alone and whole: one that hears fewer hears itself. */
  readonly layers: readonly Mixing[];
}

/** For each W that was asked for: as long as it is used, so are the plans of its exchanges. */
const edgesOf = new WeakMap<Mixing, Edges>();

function edgesIn(mixing: Mixing): Edges {
  const known = edgesOf.get(mixing);
  if (known !== undefined) return known;
  const { n } = mixing;
  const heard = heardIn(mixing);
  const compared = heard.map((those, i) => those.filter((j) => j > i || !heard[j]!.includes(i)));
  const width = Math.max(...compared.map(({ length }) => length));
  const layers = Array.from({ length: Math.max(...heard.map(({ length }) => length)) }, (_, k) => ({
    n,
    start: Int32Array.from({ length: n + 1 }, (_, i) => i),
    source: Int32Array.from(heard, (those, i) => those[k] ?? i),
    weight: new Float64Array(n).fill(1),
  }));
  const edges = layers.flatMap(({ source }) => [...source].map((j, i) => [j, i] as const).filter(([j, i]) => j !== i));
  const placeOf = (i: number, j: number) => {
    const k = compared[i]!.indexOf(j);
    return k < 0 ? undefined : i * width + k;
  };
  const found = {
    source: edges.map(([j]) => j),
    replica: edges.map(([, i]) => i),
    compared,
    width,
    place: edges.map(([j, i]) => placeOf(i, j) ?? placeOf(j, i)!),
    layers,
  };
  edgesOf.set(mixing, found);
  return found;
}

/**
 * ‖x_i − x_j‖ over the edges of a round; null if there are too many. Where rows are with other ranks every replica hears one other at a
 * time, into `spare`: as many exchanges as the most neighbours a replica has.
 */
export function edgeDistances(
  transport: Transport,
  mixing: Mixing,
  rows: Rows,
  spare: Rows,
): Omit<EdgesEvent, 'type' | 'step'> | null {
  if (entriesIn(mixing) - mixing.n > mostEdges) return null;
  const { source, replica, ...edges } = edgesIn(mixing);
  const distance = transport.alone ? comparedRows(transport, edges, rows) : heardRows(transport, edges, rows, spare);
  const there = new Set(transport.present);
  const told = source.flatMap((j, e) => (there.has(j) && there.has(replica[e]!) ? [e] : []));
  return {
    source: told.map((e) => source[e]!),
    replica: told.map((e) => replica[e]!),
    distance: told.map((e) => distance[e]!),
  };
}

type Measuring = Pick<Edges, 'compared' | 'width' | 'place' | 'layers'>;

function comparedRows(transport: Transport, { compared, width, place }: Measuring, rows: Rows): number[] {
  transport.barrier();
  const own = ownReplicas(transport).flatMap((i) =>
    Array.from({ length: width }, (_, k) => {
      const j = compared[i]![k];
      return j === undefined ? 0 : transport.kernel.gap(rows, i, j);
    }),
  );
  const all = transport.gather(Float64Array.from(own), width);
  return place.map((at) => all[at]!);
}

function heardRows(transport: Transport, { layers }: Measuring, rows: Rows, spare: Rows): number[] {
  return layers.flatMap((layer) => {
    transport.mix(layer, rows, spare, 'difference');
    const own = new Float64Array(ownReplicas(transport).length);
    for (const [place, i] of ownReplicas(transport).entries())
      transport.kernel.norms(spare, i, [0, rows.columns], own.subarray(place, place + 1));
    const all = transport.gather(own, 1);
    return [...all].filter((_, i) => layer.source[i] !== i);
  });
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
