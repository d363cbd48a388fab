import { UserError } from '../base/error.ts';
import { Random } from '../base/random.ts';
import type { Classification, Samples, Text } from './dataset.ts';
import { equalCounts, freeCounts } from './dirichlet.ts';
import type { PartitionSettings } from './settings.ts';

/** Which samples each replica owns; no sample is in two. */
export type Shards = readonly Uint32Array[];

interface Labelled extends Pick<Samples, 'groups'> {
  readonly labels: Int32Array;
}

const random = (seed: number) => new Random(seed, 'partition');
const plural = (count: number, one: string) => `${count.toLocaleString('en-US')} ${one}${count === 1 ? '' : 's'}`;

/** Cuts into n pieces whose lengths differ by at most one. */
function cut(order: Uint32Array, n: number): Uint32Array[] {
  const at = (i: number) => Math.floor((i * order.length) / n);
  return Array.from({ length: n }, (_, i) => order.slice(at(i), at(i + 1)));
}

function tooFewGroups(n: number, what: string, available: number): never {
  throw new UserError(`partition group: ${plural(n, 'replica')} need at least ${n} ${what}, there are ${available}`, {
    hint: `use at most ${available} replicas, more training data or another partition`,
  });
}

/** The samples of each class in random order. */
function byClass(labels: Int32Array, classes: number, order: Uint32Array): number[][] {
  const members = Array.from({ length: classes }, (): number[] => []);
  for (const i of order) members[labels[i]!]!.push(i);
  return members;
}

/** Sorted by label, cut into n · perReplica shards, and these dealt at random (McMahan et al., 2017). */
function shards(labels: Int32Array, classes: number, n: number, perReplica: number, seed: number): Shards {
  const source = random(seed);
  const pieces = n * perReplica;
  if (labels.length < pieces)
    throw new UserError(
      `partition shards: ${plural(n, 'replica')} with ${plural(perReplica, 'shard')} each need at least ${pieces} samples, there are ${labels.length}`,
      { hint: 'use fewer replicas, a smaller perReplica or more training data' },
    );
  const sorted = Uint32Array.from(byClass(labels, classes, source.permutation(labels.length)).flat());
  const dealt = source.permutation(pieces);
  const all = cut(sorted, pieces);
  return Array.from({ length: n }, (_, r) =>
    Uint32Array.from([...dealt.slice(r * perReplica, (r + 1) * perReplica)].flatMap((piece) => [...all[piece]!])),
  );
}

/** Whole groups to the replica that has least so far, the largest first: sizes as equal as whole groups allow. */
function dealGroups(sizes: readonly number[], n: number, seed: number): number[][] {
  const order = [...random(seed).permutation(sizes.length)].sort((a, b) => sizes[b]! - sizes[a]!);
  const loads = new Float64Array(n);
  const owned = Array.from({ length: n }, (): number[] => []);
  for (const group of order) {
    const to = loads.indexOf(loads.reduce((a, b) => Math.min(a, b)));
    owned[to]!.push(group);
    loads[to]! += sizes[group]!;
  }
  return owned.map((groups) => groups.sort((a, b) => a - b));
}

/** The members of each group that has any, in order. */
function membersOf(groups: Int32Array): number[][] {
  const members = new Map<number, number[]>();
  groups.forEach((group, i) => {
    const own = members.get(group);
    if (own === undefined) members.set(group, [i]);
    else own.push(i);
  });
  return [...members.entries()].sort(([a], [b]) => a - b).map(([, own]) => own);
}

function byGroup(groups: Int32Array, n: number, seed: number): number[][] {
  const members = membersOf(groups);
  if (members.length < n) tooFewGroups(n, 'groups', members.length);
  const sizes = members.map((own) => own.length);
  return dealGroups(sizes, n, seed).map((own) => own.flatMap((group) => members[group]!));
}

/** Deals samples to n replicas: a pure function of its arguments. Every kind uses every sample. */
export function partition(
  { labels, groups }: Labelled,
  classes: number,
  n: number,
  settings: PartitionSettings,
  seed: number,
): Shards {
  if (settings.kind === 'iid') return cut(random(seed).permutation(labels.length), n);
  if (settings.kind === 'shards') return shards(labels, classes, n, settings.perReplica, seed);
  if (settings.kind === 'group') {
    if (groups === undefined)
      throw new UserError('partition group: this data set does not say who wrote its samples', {
        hint: 'use mnist or shakespeare, or a table with data.group; or one of the partitions iid, dirichlet, shards',
      });
    return byGroup(groups, n, seed).map((own) => Uint32Array.from(own));
  }
  const source = random(seed);
  const members = byClass(labels, classes, source.permutation(labels.length));
  const classCounts = members.map((own) => own.length);
  const counts = (settings.equalSizes ? equalCounts : freeCounts)(classCounts, n, settings.alpha, source);
  const used = classCounts.map(() => 0);
  return counts.map((row) =>
    Uint32Array.from(row.flatMap((count, c) => members[c]!.slice(used[c]!, (used[c]! += count)))),
  );
}

const remedies: Readonly<Record<PartitionSettings['kind'], string>> = {
  iid: '',
  dirichlet: ', a larger alpha or equalSizes: true',
  shards: '',
  group: '',
};

/** A UserError if a replica has nothing, or less than it needs for one step. */
function refusePoor(
  sizes: readonly number[],
  need: number,
  what: string,
  needed: string,
  kind: PartitionSettings['kind'],
): void {
  const poorest = sizes.indexOf(sizes.reduce((a, b) => Math.min(a, b)));
  if (sizes[poorest]! >= need) return;
  const poor = sizes.filter((size) => size < need).length;
  const others = poor === 1 ? '' : `, and ${plural(poor - 1, 'other replica')} too few as well`;
  const gets = sizes[poorest] === 0 ? 'gets no data' : `gets ${plural(sizes[poorest]!, what)}`;
  throw new UserError(
    `partition ${kind} over ${plural(sizes.length, 'replica')}: replica ${poorest} ${gets}, fewer than ${needed}${others}`,
    { hint: `use fewer replicas, a smaller batch or more training data${remedies[kind]}` },
  );
}

/** The classes of the training samples; all alike if they have none. */
export const classesOf = ({ task, train }: Classification): Labelled => ({
  ...train,
  labels: task === 'classification' ? (train.labels as Int32Array) : new Int32Array(train.count),
});

/** The training samples of each replica, each enough for a batch, or a UserError. */
export function shardsOf(
  dataset: Classification,
  n: number,
  settings: PartitionSettings,
  seed: number,
  batch: number,
): Shards {
  const { kind } = settings;
  if (dataset.task !== 'classification' && (kind === 'dirichlet' || kind === 'shards'))
    throw new UserError(`partition ${kind}: ${dataset.task} has no classes to deal by`, {
      hint: 'use the partition iid, or group if a column says whose a row is (data.group)',
    });
  const dealt = partition(classesOf(dataset), dataset.classes, n, settings, seed);
  const sizes = dealt.map((own) => own.length);
  refusePoor(sizes, batch, 'sample', `one batch of ${batch}`, settings.kind);
  return dealt;
}

/** The training text of each replica: contiguous pieces, or all that its speakers say. */
export function partitionText(
  { name, train }: Text,
  n: number,
  settings: PartitionSettings,
  seed: number,
): readonly Int32Array[] {
  const { tokens, utterances } = train;
  if (settings.kind === 'iid') {
    const at = (i: number) => Math.floor((i * tokens.length) / n);
    return Array.from({ length: n }, (_, i) => tokens.subarray(at(i), at(i + 1)));
  }
  if (settings.kind !== 'group' || utterances === undefined)
    throw new UserError(
      `partition ${settings.kind}: ${name} is a text ${settings.kind === 'group' ? 'without speakers' : 'and has no classes'}`,
      { hint: `use the partition iid${utterances === undefined ? '' : ' or group (by speaker)'}` },
    );
  const { starts, speakers } = utterances;
  const members = membersOf(speakers);
  if (members.length < n) tooFewGroups(n, 'speakers', members.length);
  const length = (u: number) => starts[u + 1]! - starts[u]!;
  const sizes = members.map((own) => own.reduce((sum, u) => sum + length(u), 0));
  return dealGroups(sizes, n, seed).map((own) => {
    const spoken = own.flatMap((speaker) => members[speaker]!).sort((a, b) => a - b);
    const stream = new Int32Array(new SharedArrayBuffer(4 * spoken.reduce((sum, u) => sum + length(u), 0)));
    let at = 0;
    for (const u of spoken) {
      stream.set(tokens.subarray(starts[u]!, starts[u + 1]!), at);
      at += length(u);
    }
    return stream;
  });
}

/** The training text of each replica, each enough for a batch of `batch` rows of `bptt` tokens, or a UserError. */
export function streamsOf(
  text: Text,
  n: number,
  settings: PartitionSettings,
  seed: number,
  batch: number,
  bptt: number,
): readonly Int32Array[] {
  const streams = partitionText(text, n, settings, seed);
  const sizes = streams.map((stream) => stream.length);
  refusePoor(
    sizes,
    batch * (bptt + 1),
    'token',
    `one batch of ${batch} rows of ${bptt} tokens and their successors`,
    settings.kind,
  );
  return streams;
}

/** counts[replica][class]. */
export function classTable(labels: Int32Array, classes: number, dealt: Shards): readonly (readonly number[])[] {
  return dealt.map((own) => {
    const counts = new Array<number>(classes).fill(0);
    for (const i of own) counts[labels[i]!]! += 1;
    return counts;
  });
}
