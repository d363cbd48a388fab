import { nameOf, planFor } from '../algorithm/choose.ts';
import { factsOf } from '../algorithm/facts.ts';
import { intolerance } from '../algorithm/tolerance.ts';
import { requireSha256, sha256Of } from '../base/content.ts';
import { told, UserError } from '../base/error.ts';
import { readText } from '../base/file.ts';
import { checkAway } from '../network/faults/away.ts';
import {
  type ChurnSettings,
  changesLearning,
  churnUnit,
  type FaultSettings,
  followsTime,
} from '../network/faults/settings.ts';
import { topologyAt } from '../topology/schedule.ts';
import { buildTopology } from '../topology/topology.ts';
import type { Experiment } from './schema.ts';

/** A trace becomes a list, so that the file is not needed any more. */
export function withFaults<T extends { readonly faults?: FaultSettings | undefined }>(run: T): T {
  const churn = run.faults?.churn;
  if (churn?.kind !== 'trace') return run;
  const { path, sha256, kind: _, ...others } = churn;
  const listed: ChurnSettings = { kind: 'list', away: readTrace(path, sha256), ...others };
  return { ...run, faults: { ...run.faults, churn: listed } };
}

/** Lines of replica, from and to, in seconds, below a line with these names. */
function readTrace(path: string, sha256: string | undefined): { replica: number; from: string; to: string }[] {
  const text = readText(path, 'trace');
  requireSha256(path, sha256Of(Buffer.from(text)), sha256);
  const [head = '', ...lines] = text.split(/\r?\n/);
  if (!/^\s*replica\s*,\s*from\s*,\s*to\s*$/.test(head))
    throw new UserError(`${path}: the first line must be "replica,from,to", got "${head.slice(0, 60)}"`);
  return lines.flatMap((line, place) => {
    if (line.trim() === '') return [];
    const cells = line.split(',').map((cell) => cell.trim());
    const [replica, from, to] = cells.map(Number);
    const sound = cells.length === 3 && cells.every((cell) => /^\d+(\.\d+)?(e[+-]?\d+)?$/i.test(cell));
    if (!sound || !Number.isInteger(replica))
      throw new UserError(
        `${path}, line ${place + 2}: expected a replica and two times in seconds, as in 3,10.5,60; got "${line.slice(0, 60)}"`,
      );
    return [{ replica: replica!, from: `${from}s`, to: `${to}s` }];
  });
}

/** Whether who hears whom depends on times: then a run belongs to its network, and cannot be timed on another. */
export const learningFollowsTime = ({ algorithm, faults }: Pick<Experiment, 'algorithm' | 'faults'>): boolean =>
  factsOf(algorithm).asynchronous || followsTime(faults);

type Settings = Pick<
  Experiment,
  'faults' | 'network' | 'replicas' | 'algorithm' | 'consensus' | 'topology' | 'epochs' | 'seed'
>;

/** Rounds of which the degrees are looked at. */
const mostRounds = 16;

/** What is wrong with the faults of a run: what needs times, whom they are for, and whether its method can do with them. */
export function problemsOfFaults({ faults, network, ...run }: Settings): string[] {
  if (faults === undefined) return [];
  const { wait, loss, churn } = faults;
  const problems: string[] = [];
  const { replicas: n } = run;
  if (churn !== undefined)
    try {
      checkAway(churn, n);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      return [told(error)];
    }
  const timed = [
    ...(wait.kind === 'all' ? [] : [`wait: ${wait.kind}`]),
    ...(loss?.kind === 'retransmit' ? ['loss: retransmit'] : []),
    ...(churn !== undefined && churnUnit(churn) === 'time' ? ['churn by time'] : []),
  ];
  if (network === undefined && timed.length > 0)
    problems.push(
      `faults: ${timed.join(', ')} needs times, and there are none without a network; give network, as in network: lan${churn === undefined ? '' : ', or count churn in steps'}`,
    );
  const plan = planFor(run.algorithm);
  const reason = changesLearning(faults) || plan.asynchronous !== undefined ? intolerance(plan, faults) : undefined;
  if (reason !== undefined)
    problems.push(
      `faults: the ${nameOf(run.algorithm)} algorithm ${reason}; or use one that does without, such as dpsgd`,
    );
  if (run.consensus.kind !== 'none' && (wait.kind !== 'all' || churn !== undefined))
    problems.push('faults: consensus control measures all replicas together; use neither wait nor churn with it');
  if (wait.kind === 'quorum') problems.push(...problemOfQuorum(wait.count, run));
  return problems;
}

function problemOfQuorum(
  count: number,
  { topology, replicas, epochs, seed }: Omit<Settings, 'network' | 'faults'>,
): string[] {
  const built = buildTopology(topologyAt(topology, replicas, 0, epochs), replicas, seed);
  const rounds = Array.from({ length: Math.min(built.period, mostRounds) }, (_, step) => built.round(step).sources);
  const degree = rounds.flat().reduce((most, row) => Math.max(most, row.length), 0);
  if (count <= degree) return [];
  return [`faults.wait.count: nobody hears more than ${degree} others on this topology, got ${count}`];
}
