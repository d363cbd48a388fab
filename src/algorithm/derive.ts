import { flatStages, readsOf, type Stage, writesOf } from './stage.ts';

/** What follows from the stages of a method about its rows. */

/**
 * Rows that are the same on all replicas in every step, to the last bit: those that only means and other such rows are written to. What is mixed is
 * equal only but for rounding.
 */
export function equalRows(stages: readonly Stage[], names: readonly string[]): ReadonlySet<string> {
  const all = new Set(names);
  let equal: ReadonlySet<string> = all;
  for (;;) {
    const keeps = (stage: Stage) =>
      stage.do === 'mean' ||
      ((stage.do === 'set' || stage.do === 'direction') &&
        readsOf(stage).every((name) => equal.has(name) || !all.has(name)));
    const written = flatStages(stages)
      .filter((stage) => !keeps(stage))
      .flatMap(writesOf);
    const next = new Set([...equal].filter((name) => !written.includes(name)));
    if (next.size === equal.size) return equal;
    equal = next;
  }
}

/** Numbers that are the same on all replicas: figures over all of them, and what is computed from such numbers and settings. */
export function equalNumbers(stages: readonly Stage[], numbers: readonly string[]): ReadonlySet<string> {
  const all = new Set(numbers);
  let equal: ReadonlySet<string> = all;
  for (;;) {
    const keeps = (stage: Stage) =>
      stage.do === 'sketch' ||
      (stage.do === 'setNumber' && readsOf(stage).every((name) => equal.has(name) || !all.has(name)));
    const written = flatStages(stages)
      .filter((stage) => !keeps(stage))
      .flatMap(writesOf);
    const next = new Set([...equal].filter((name) => !written.includes(name)));
    if (next.size === equal.size) return equal;
    equal = next;
  }
}

/**
 * The rows that others know without being told: what compressed messages add up to, and what is computed from such rows alone. Whoever hears
 * a replica keeps a copy of them and does with it what the replica does.
 */
export function memoryRows(
  stages: readonly Stage[],
  rows: readonly string[],
  numbers: readonly string[],
): ReadonlySet<string> {
  const all = flatStages(stages);
  const ofReplica = new Set([...rows, ...numbers]);
  if (!all.some((stage) => stage.do === 'send')) return new Set();
  // x starts alike on all, but what starts as x and is never sent is no memory either: begin with all, take away what learns from others.
  let memories = new Set(rows.filter((name) => name !== 'x'));
  for (;;) {
    const keeps = (stage: Stage) =>
      stage.do === 'send' ||
      (stage.do === 'set' && readsOf(stage).every((name) => memories.has(name) || !ofReplica.has(name)));
    const lost = new Set(all.filter((stage) => !keeps(stage)).flatMap(writesOf));
    const next = new Set([...memories].filter((name) => !lost.has(name)));
    if (next.size === memories.size) break;
    memories = next;
  }
  // Of these, those that a message reaches.
  const reached = new Set(all.flatMap((stage) => (stage.do === 'send' ? [stage.memory] : [])));
  for (;;) {
    const more = all.filter(
      (stage) => stage.do === 'set' && memories.has(stage.row) && readsOf(stage).some((name) => reached.has(name)),
    );
    const before = reached.size;
    for (const stage of more) for (const name of writesOf(stage)) reached.add(name);
    if (reached.size === before) return new Set([...reached].filter((name) => memories.has(name)));
  }
}
