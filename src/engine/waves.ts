import type { Exchange, PairTask } from '../network/queue.ts';

/** A replica's gradient of one of its own steps. */
export interface OwnStep {
  readonly replica: number;
  readonly step: number;
}

/** Exchanges in which no replica is twice, and the gradients that begin after them. */
export interface Wave {
  readonly exchanges: readonly Exchange[];
  readonly begins: readonly OwnStep[];
}

/** A gradient that can be computed from one wave on, and must be before the exchanges of another. */
export interface Due extends OwnStep {
  readonly from: number;
  readonly by: number;
}

/**
 * What the queue says, as a graph of tasks: each comes in the first wave after all that it depends on, so that the tasks of a wave can be done in any
 * order. The first wave has no exchanges.
 */
export function wavesOf(tasks: readonly PairTask[]): { readonly waves: readonly Wave[]; readonly gradients: Due[] } {
  const waves: { exchanges: Exchange[]; begins: OwnStep[] }[] = [{ exchanges: [], begins: [] }];
  const gradients: Due[] = [];
  /** The last wave that a replica is in, and that after which its next gradient can be computed. */
  const last = new Map<number, number>();
  const ready = new Map<number, number>();
  const since = (replica: number, wave: number) => ready.set(replica, Math.max(ready.get(replica) ?? 0, wave));
  for (const task of tasks) {
    const { replica, step } = task;
    if (task.do === 'begin') {
      const wave = last.get(replica) ?? 0;
      waves[wave]!.begins.push({ replica, step });
      since(replica, wave);
      continue;
    }
    const wave = 1 + Math.max(last.get(replica) ?? 0, last.get(task.partner) ?? 0);
    if (wave === waves.length) waves.push({ exchanges: [], begins: [] });
    waves[wave]!.exchanges.push(task);
    gradients.push({ replica, step, from: 1 + (ready.get(replica) ?? 0), by: wave });
    last.set(replica, wave).set(task.partner, wave);
    since(replica, wave);
  }
  return { waves, gradients };
}

/** Replicas first ≤ i < last. */
interface Block {
  readonly first: number;
  readonly last: number;
}

/**
 * For each wave, the gradients that the owner of the first block computes before it. In a wave all wait for the one who has most to do; the others
 * meanwhile compute what they will need later.
 */
export function turnsOf(gradients: readonly Due[], waves: number, blocks: readonly Block[]): readonly OwnStep[][] {
  const left = blocks.map(({ first, last }) =>
    gradients.filter(({ replica }) => replica >= first && replica < last).sort((a, b) => a.by - b.by),
  );
  return Array.from({ length: waves }, (_, wave) => {
    const most = Math.max(...left.map((own) => own.filter(({ by }) => by === wave).length));
    const taken = left.map((own, block) => {
      const now = own.filter(({ from }) => from <= wave).slice(0, most);
      const done = new Set(now);
      left[block] = own.filter((each) => !done.has(each));
      return now;
    });
    return taken[0]!;
  });
}
