import { flatStages, readsOf, type Stage, writesOf } from './stage.ts';

/** What follows from the stages of a method about its rows. */

/** Names that stay alike: those that no stage writes that does not keep them so, given what else is alike. */
function keptAlike(
  stages: readonly Stage[],
  names: readonly string[],
  keeps: (stage: Stage, alike: ReadonlySet<string>) => boolean,
): ReadonlySet<string> {
  let alike: ReadonlySet<string> = new Set(names);
  for (;;) {
    const lost = flatStages(stages)
      .filter((stage) => !keeps(stage, alike))
      .flatMap(writesOf);
    const next = new Set([...alike].filter((name) => !lost.includes(name)));
    if (next.size === alike.size) return alike;
    alike = next;
  }
}

/** Numbers that are the same on all replicas: figures over all of them, and what is computed from such numbers and settings. */
export function equalNumbers(stages: readonly Stage[], numbers: readonly string[]): ReadonlySet<string> {
  return keptAlike(
    stages,
    numbers,
    (stage, alike) =>
      stage.do === 'sketch' ||
      (stage.do === 'setNumber' && readsOf(stage).every((name) => alike.has(name) || !numbers.includes(name))),
  );
}

/**
 * Rows that are the same on all replicas in every step, to the last bit: those that only means and what is computed from such rows and numbers are written
 * to. What is mixed is equal only but for rounding, and an optimizer's directions are only if it never sees anything else.
 */
export function equalRows(
  stages: readonly Stage[],
  rows: readonly string[],
  numbers: readonly string[],
): ReadonlySet<string> {
  const ofReplica = new Set([...rows, ...numbers]);
  const same = equalNumbers(stages, numbers);
  const seen = flatStages(stages).filter(({ do: kind }) => kind === 'direction' || kind === 'momentum');
  return keptAlike(stages, rows, (stage, alike) => {
    const reads = (each: Stage) =>
      readsOf(each).every((name) => alike.has(name) || same.has(name) || !ofReplica.has(name));
    return (
      stage.do === 'mean' || (stage.do === 'set' && reads(stage)) || (stage.do === 'direction' && seen.every(reads))
    );
  });
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
