import { namesIn } from '../base/formula.ts';
import type { Pattern, Work } from '../network/pattern.ts';
import { keptRows, readsOf, type StepActions, writesOf } from './actions.ts';
import { sentBytes } from './function.ts';
import { rowFunctions } from './functions.ts';
import type { Plan } from './method.ts';
import { sketchedNumbers } from './sketch.ts';
import { choicesIn, isBetween } from './stage.ts';
import { doubleBytes, jacobianBytes, type Sizes, sketchesFrom, vector } from './traffic.ts';

const floatBytes = 4;

/**
 * What a step's actions come to in time. Messages are those that `trafficOf` counts: rows that are mixed one after the other go in one message,
 * until something is computed from what was received.
 *
 * @param columns parameters of the model
 * @param compressedBytes of a compressed row
 */
export function patternOf(
  plan: Plan,
  { actions, scalars }: Pick<StepActions, 'actions' | 'scalars'>,
  { columns, tensors = [vector(columns)], compressedBytes, answers }: Omit<Sizes, 'replicas' | 'degree' | 'degreeBy'>,
): Pattern {
  const numbers = new Map<string, number>();
  const row = (name: string) => {
    if (!numbers.has(name)) numbers.set(name, numbers.size);
    return numbers.get(name)!;
  };
  const rowBytes = columns * floatBytes;
  const work: Work[] = [];
  /** Rows of which only a part is sent, and its bytes. */
  const parts = new Map<string, number>();
  // A replica knows what to do when it knows what that hangs on.
  const choices = choicesIn(plan.stages).flatMap((choice) => [choice.if, choice.least].flatMap(namesIn));
  const decisions = [...new Set(choices)].filter((name) => name in plan.numbers).map(row);
  const received = new Set<string>();
  /** Sets of edges that the last message is for. */
  const edges = new Set<number>();
  const computed = new Set<string>();
  for (const [at, action] of actions.entries()) {
    // A copy of what was received is there with it, and computes nothing from it.
    if ((action.do === 'set' || action.do === 'setNumber') && 'name' in action.to && received.has(action.to.name)) {
      const [at, source] = [work.findLastIndex((each) => each.do === 'gossip'), row(action.to.name)];
      const gossip = work[at] as Extract<Work, { do: 'gossip' }>;
      const copy = action.do === 'set' ? action.row : action.number;
      const from = gossip.rows.findLast(([, into]) => into === source)![0];
      work[at] = { ...gossip, rows: [...gossip.rows, [from, row(copy)]] };
      received.add(copy);
      continue;
    }
    if (readsOf(action).some((name) => received.has(name))) received.clear();
    const reads = readsOf(action).map(row);
    switch (action.do) {
      case 'signal':
      case 'probe':
        break;
      case 'gradient':
      case 'distil':
      case 'adapt':
        work.push({ do: 'compute', from: [...reads, ...decisions], into: row(action.into) });
        break;
      case 'evolve': {
        const [own, heard] = [row('Jacobian'), row('Jacobians heard')];
        work.push(
          { do: 'compute', from: reads, into: own },
          { do: 'gossip', bytes: jacobianBytes({ columns, answers }), rows: [[own, heard]] },
          { do: 'local', from: [...reads, own, heard], into: row(action.into) },
        );
        break;
      }
      case 'mix': {
        const rows = [row(action.from), row(action.into)] as const;
        if (plan.memories.has(action.from)) {
          work.push({ do: 'recall', from: rows[0], into: rows[1] });
          break;
        }
        // What goes in one message leaves when its last row is there.
        const last = work.findLastIndex((each) => each.do === 'gossip');
        // Neighbours of another set of edges get theirs at the same time, if it is there.
        const beside =
          typeof action.by === 'number' &&
          received.size === 0 &&
          edges.size > 0 &&
          !edges.has(action.by) &&
          !work.slice(last).some((each) => 'into' in each && each.into === rows[0]);
        const joins = received.size > 0 || beside ? last : work.length;
        const [before] = work.splice(joins, 1) as Extract<Work, { do: 'gossip' }>[];
        // Of edges, each neighbour gets the rows of one set.
        const share = typeof action.by === 'number' ? plan.sets : 1;
        const whole = action.sort === 'row' ? rowBytes : floatBytes;
        const bytes = (before?.bytes ?? 0) + (parts.get(action.from) ?? whole) / share;
        const between = isBetween(action.by) ? { between: action.by } : {};
        const gossip: Work = { do: 'gossip', bytes, rows: [...(before?.rows ?? []), rows], ...between };
        work.splice(beside ? last : work.length, 0, gossip);
        if (before === undefined) edges.clear();
        if (typeof action.by === 'number') edges.add(action.by);
        if (!beside) received.add(action.into);
        break;
      }
      case 'send':
        work.push({ do: 'tell', bytes: compressedBytes, from: row(action.row), into: row(action.memory) });
        break;
      case 'mean':
        work.push({
          do: 'mean',
          bytes: parts.get(action.from) ?? rowBytes,
          from: row(action.from),
          into: row(action.into),
          gradient: computed.has(action.from),
        });
        break;
      case 'sketch': {
        const [into, known] = [row(action.number), work.findLast((each) => each.do === 'mean')?.into];
        const bytes = sketchedNumbers(sketchesFrom(actions, at)) * doubleBytes;
        // Later ones go with the first.
        if (bytes > 0) work.push({ do: 'mean', bytes, from: row(action.row), into, gradient: false, numbers: true });
        else work.push({ do: 'local', from: [known ?? into], into });
        break;
      }
      case 'updateTogether': {
        const gradient = computed.has(action.meanOf);
        work.push(
          { do: 'mean', bytes: rowBytes, from: row(action.meanOf), into: row(action.meanOf), gradient },
          { do: 'local', from: reads, into: row(action.into) },
        );
        break;
      }
      default:
        for (const name of writesOf(action)) work.push({ do: 'local', from: reads, into: row(name) });
    }
    if (action.do === 'apply') {
      const short = sentBytes(rowFunctions[action.name]!, { tensors, scalar: (name) => scalars.get(name)! });
      if (short !== undefined) parts.set(action.into, short);
    }
    for (const name of writesOf(action)) {
      if (action.do === 'gradient' || action.do === 'distil') computed.add(name);
      else computed.delete(name);
    }
  }
  const kept = [...keptRows(plan), ...Object.keys(plan.numbers)].map(row);
  return { rows: numbers.size, work, kept, rowBytes };
}
