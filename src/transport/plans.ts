import type { Block } from '../kernel/blocks.ts';
import { type ColumnRange, columnShare, type MixForm, programOf } from '../kernel/kernel.ts';
import { type RowMemory, Rows } from '../kernel/memory.ts';
import { isMean, type MixProgram, meanProgram, sumProgram } from '../kernel/program.ts';
import type { Mixing } from '../topology/mixing.ts';
import type { Division } from './division.ts';
import { contribution, heldRows, type pairExchange, pieces, type RowMessage, rowExchange } from './exchange.ts';
import type { Channel, Message, RankGroup } from './group.ts';
import { blockOf } from './transport.ts';

/** What is kept ready for one W: in the first thread the messages. */
interface Kept {
  readonly channel: Channel | undefined;
}

/** The same for rows, with the program that adds them up. */
export interface MixPlan extends Kept {
  readonly program: MixProgram;
  /** Which messages carry each replica. */
  readonly sendsOf: ReadonlyMap<number, readonly number[]>;
}

/** What is kept ready for means. */
export interface MeanPlan {
  readonly contribute: MixProgram | undefined;
  readonly mean: MixProgram;
  /** Everyone's sums in own columns come here, and the mean of own columns goes to everyone. */
  readonly scatter: Channel | undefined;
  readonly spread: Channel | undefined;
}

/** What messages between the same two are told apart by: sums, means, and rows by matrix and replica. The standard has tags up to 32767. */
const [sumTag, meanTag] = [0, 1];
const rowTag = (
  matrix: number,
  replica: number,
  shard: number,
  { replicas, shards }: { replicas: number; shards: number },
) => 2 + (((matrix * replicas + replica) * shards + shard) % 32_000);

/** Topologies that change often have a plan per round; beyond this the oldest is given up. */
const mostPlans = 64;

/** What is kept ready between steps, made when it is first asked for. */
export interface Plans {
  /** If W is the mean over all, that has a shorter way. If what is heard is known, nothing is sent. */
  mix(mixing: Mixing, input: Rows, form: MixForm, known: boolean): MixPlan | 'mean';
  /** Messages of replicas to those who hear them, each from and to its own place. */
  tell(mixing: Mixing, message: (replica: number) => Uint8Array, bytes: number): Kept;
  /** Rows to those who hear them, into their rows of the same matrix; not kept. */
  fetch(mixing: Mixing, rows: Rows): Channel | undefined;
  /** Rows of own replicas to their partners, and theirs into the rows that are heard, in this order; not kept. */
  pair(across: ReturnType<typeof pairExchange>['across'], rows: Rows): Channel | undefined;
  mean(input: Rows): MeanPlan;
  /** The columns of which a rank adds up the means. */
  columnsOf(rank: number): ColumnRange;
  free(): void;
}

/** The plans of one thread for as long as the ranks are the same; `group` in the thread that speaks with them. */
export function plansFor(memory: RowMemory, division: Division, group: RankGroup | undefined): Plans {
  const plans = new Map<Mixing, Map<string, Kept>>();
  const means = new Map<string, MeanPlan>();
  const asMean = new WeakMap<Mixing, boolean>();

  /** What is kept for W under a name. */
  function keep<T extends Kept>(mixing: Mixing, name: string, make: () => T): T {
    let known = plans.get(mixing);
    if (known === undefined) {
      if (plans.size >= mostPlans) forget(plans.keys().next().value!);
      plans.set(mixing, (known = new Map()));
    }
    const plan = known.get(name) ?? make();
    known.set(name, plan);
    return plan as T;
  }

  function forget(mixing: Mixing): void {
    for (const { channel } of plans.get(mixing)!.values()) channel?.free();
    plans.delete(mixing);
  }

  function freePlans(): void {
    for (const mixing of [...plans.keys()]) forget(mixing);
    for (const { scatter, spread } of means.values()) {
      scatter?.free();
      spread?.free();
    }
    means.clear();
  }

  /** Rows that are there for own sums. If replicas are lost, sums may be fewer. */
  const sumRows = new Rows(memory, 'sums').count;
  const matrices = Object.keys(memory.rows);
  const own = division.last - division.first;
  /** Rows between those of own replicas in a matrix and own sums. */
  const otherRows = ({ name }: Rows) =>
    matrices
      .slice(matrices.indexOf(name), matrices.indexOf('sums'))
      .reduce((sum, each) => sum + memory.rows[each]!, -own);
  const everything: ColumnRange = [0, memory.columns];
  const counts = { replicas: division.replicas, shards: memory.shards.length };

  /** A row of replica `replica`, in parts, that belongs to a matrix. */
  const rowMessages = ({ name }: Rows, from: Rows, row: number, peer: number, replica: number) =>
    pieces(from, row, everything).map(
      (values, s): Message => ({ peer, tag: rowTag(matrices.indexOf(name), replica, s, counts), values }),
    );

  /** Every replica has its row, from the first own one on. */
  function planKnown(mixing: Mixing, form: MixForm): MixPlan {
    const { first, last, replicas } = division;
    const held = Array.from({ length: replicas }, (_, k): Block => ({ first: (first + k) % replicas, size: 1 }));
    return {
      program: programOf[form](mixing, { rows: [first, last], held, out: 0 }),
      channel: undefined,
      sendsOf: new Map(),
    };
  }

  function planMix(mixing: Mixing, input: Rows, form: MixForm): MixPlan {
    const { sends, receives } = rowExchange(mixing, division);
    const received = receives.map(({ replica }): Block => ({ first: replica, size: 1 }));
    const held = heldRows(division, otherRows(input) + sumRows, [], 0, received);
    const program = programOf[form](mixing, { rows: [division.first, division.last], held, out: 0 });
    const heard = new Rows(memory, 'heard');
    const channel = group?.open(
      sends.flatMap(({ replica, peer }) => rowMessages(input, input, replica, peer, replica)),
      receives.flatMap(({ replica, peer }, place) => rowMessages(input, heard, place, peer, replica)),
    );
    const sendsOf = new Map<number, number[]>();
    sends
      .flatMap(({ replica }) => memory.shards.map(() => replica))
      .forEach((replica, index) => {
        sendsOf.set(replica, [...(sendsOf.get(replica) ?? []), index]);
      });
    return { program, channel, sendsOf };
  }

  function planTell(mixing: Mixing, message: (replica: number) => Uint8Array): Kept {
    const { sends, receives } = rowExchange(mixing, division);
    const one = ({ replica, peer }: RowMessage): Message => ({
      peer,
      tag: rowTag(matrices.length, replica, 0, counts),
      values: message(replica),
    });
    return { channel: group?.open(sends.map(one), receives.map(one)) };
  }

  function fetch(mixing: Mixing, rows: Rows): Channel | undefined {
    const { sends, receives } = rowExchange(mixing, division);
    const row = ({ replica, peer }: RowMessage) => rowMessages(rows, rows, replica, peer, replica);
    return group?.open(sends.flatMap(row), receives.flatMap(row));
  }

  const pair: Plans['pair'] = (across, rows) => {
    const heard = new Rows(memory, 'heard');
    return group?.open(
      across.flatMap(({ own, peer }) => rowMessages(rows, rows, own, peer, own)),
      across.flatMap(({ other, peer }, place) => rowMessages(rows, heard, place, peer, other)),
    );
  };

  function meanPlanOf(input: Rows): MeanPlan {
    let plan = means.get(input.name);
    if (plan === undefined) means.set(input.name, (plan = planMean(input)));
    return plan;
  }

  const columnsOf = (rank: number) =>
    columnShare(memory.columns, division.members.indexOf(rank), division.members.length);

  function planMean(input: Rows): MeanPlan {
    const { blocks, sums: ownSums } = contribution(division, division);
    const others = division.members.filter((p) => p !== division.rank);
    const received = others.flatMap((peer) =>
      contribution(division, blockOf(division.replicas, division.ranks, peer)).blocks.map((block) => ({ peer, block })),
    );
    const held = heldRows(
      division,
      otherRows(input),
      ownSums,
      sumRows - ownSums.length + division.replicas - own,
      received.map(({ block }) => block),
    );
    const [sums, parts, mean] = [new Rows(memory, 'sums'), new Rows(memory, 'parts'), new Rows(memory, 'mean')];
    const message = (tag: number, from: Rows, row: number, peer: number, columns: ColumnRange) =>
      pieces(from, row, columns).map((values): Message => ({ peer, tag, values }));
    const contributed = (block: Block, peer: number) => {
      const [from, row] = block.size === 1 ? [input, block.first] : [sums, ownSums.indexOf(block)];
      return message(sumTag, from, row, peer, columnsOf(peer));
    };
    return {
      contribute: ownSums.length === 0 ? undefined : sumProgram(ownSums, heldRows(division, 0, [], 0, [])),
      mean: meanProgram(division.present, held),
      scatter: group?.open(
        others.flatMap((peer) => blocks.flatMap((block) => contributed(block, peer))),
        received.flatMap(({ peer }, row) => message(sumTag, parts, row, peer, columnsOf(division.rank))),
      ),
      spread: group?.open(
        others.flatMap((peer) => message(meanTag, mean, 0, peer, columnsOf(division.rank))),
        others.flatMap((peer) => message(meanTag, mean, 0, peer, columnsOf(peer))),
      ),
    };
  }

  return {
    mix(mixing, input, form, known) {
      if (known) return keep(mixing, `known ${form}`, () => planKnown(mixing, form));
      if (!asMean.has(mixing)) asMean.set(mixing, isMean(mixing));
      if (form === 'sum' && asMean.get(mixing)) return 'mean';
      return keep(mixing, `${form} ${input.name}`, () => planMix(mixing, input, form));
    },
    tell: (mixing, message, bytes) =>
      keep(mixing, `messages of ${bytes}`, () => planTell(mixing, (replica) => message(replica).subarray(0, bytes))),
    fetch,
    pair,
    mean: meanPlanOf,
    columnsOf,
    free: freePlans,
  };
}
