import { bytes, number } from '../base/format.ts';
import { timeText } from '../network/text.ts';
import type { Comparison, Report, VirtualReport } from './report.ts';

/** What to use on a network: who reaches an accuracy first there, and why. */
export interface NetworkChoice {
  readonly network: string;
  readonly accuracy: number;
  readonly name: string;
  /** Why, in a sentence. */
  readonly why: string;
}

interface Reached {
  readonly name: string;
  readonly seconds: number;
  readonly steps: number;
  readonly sentBytes: number;
}

/** The highest accuracy that at least two implementations reach, or that one does: who is first to it. */
function race({ groups }: Report, { groups: members }: Comparison, { groups: timed }: VirtualReport) {
  const targets = timed[members[0]!]!.reached.map(({ accuracy }) => accuracy);
  const races = targets.map((accuracy, target) => {
    const reached = members.flatMap((index): Reached[] => {
      const { seconds, steps, sentBytes } = timed[index]!.reached[target]!;
      if (seconds === null || steps === null || sentBytes === null) return [];
      return [{ name: groups[index]!.name, seconds: seconds.mean, steps: steps.mean, sentBytes: sentBytes.mean }];
    });
    return { accuracy, reached: reached.toSorted((a, b) => a.seconds - b.seconds) };
  });
  return races.findLast(({ reached }) => reached.length > 1) ?? races.findLast(({ reached }) => reached.length > 0);
}

const time = (seconds: number) => timeText(1e9 * seconds, 3);
const course = ({ steps, seconds }: Reached) => `${number(Math.round(steps))} steps of ${time(seconds / steps)}`;

/** Steps whose times differ by less than this read alike. */
const margin = 1e-3;

/** Steps times the time of a step: which of both made it first. */
function reason(first: Reached, second: Reached): string {
  const [own, other] = [first.seconds / first.steps, second.seconds / second.steps];
  const alike = Math.abs(own - other) <= margin * other;
  if (first.steps > second.steps) return 'shorter steps outweigh that there are more';
  if (first.steps === second.steps) return alike ? 'both take as long' : 'shorter steps decide';
  if (alike) return 'fewer steps decide';
  return own < other ? 'fewer and shorter steps decide' : 'fewer steps outweigh that they are longer';
}

function sentence(reached: readonly Reached[]): string {
  const [first, second] = reached as [Reached, Reached?];
  const parts = [`${time(first.seconds)}, ${course(first)}`];
  if (second !== undefined)
    parts.push(`next is ${second.name}, ${time(second.seconds)}, ${course(second)}: ${reason(first, second)}`);
  const least = reached.reduce((a, b) => (b.sentBytes < a.sentBytes ? b : a));
  if (least !== first)
    parts.push(
      `the least bytes are those of ${least.name}, ${bytes(least.sentBytes)} instead of ${bytes(first.sentBytes)}, which takes ${time(least.seconds)}`,
    );
  return parts.join('; ');
}

/** For every network and comparison in which somebody reaches an accuracy. */
export const networkChoices = (report: Report): readonly NetworkChoice[] =>
  report.comparisons.flatMap((comparison) =>
    report.networks.flatMap((network) => {
      const found = race(report, comparison, network);
      if (found === undefined) return [];
      const { accuracy, reached } = found;
      return [{ network: network.name, accuracy, name: reached[0]!.name, why: sentence(reached) }];
    }),
  );

export const choiceText = ({ network, accuracy, name, why }: NetworkChoice): string =>
  `${network}: ${name} is first to ${number(100 * accuracy, 3)} %, after ${why}.`;
