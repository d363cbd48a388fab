import { quantile } from '../base/statistics.ts';
import { devicesFor, type NamedNetwork } from '../experiment/network.ts';
import { estimate } from '../metric/estimate.ts';
import { hitsAt, reaches } from '../metric/hits.ts';
import { atEvaluations, spending } from '../metric/reach.ts';
import { type Retimed, retime } from '../metric/retime.ts';
import { timeText } from '../network/text.ts';
import { nanoseconds } from '../network/units.ts';
import { readContext } from '../store/runs.ts';
import type { Seeds } from './group.ts';
import type { RetimedGroup, RetimedRun, VirtualReport } from './report.ts';
import type { Member } from './run.ts';

/** Pictures of links and of single steps are for so many replicas; more could not be told apart. */
const mostDrawn = 64;
/** Messages in a picture of a few steps. */
const mostHappenings = 4000;

/** Nanoseconds in which a replica computed a step on the machine of the run: the median over its steps. */
function computeNsOf({ run, series }: Member): number {
  const { workers, processes } = readContext(run);
  const each = (workers * processes) / run.experiment.replicas;
  return 1e6 * each * quantile(series.steps.computeMs, 0.5);
}

/** The time of a step that all runs are given, so that they differ by their messages alone: the median of the runs, or what is said. */
export function commonCompute(members: readonly Member[], given: string | undefined): string {
  return given ?? `${Math.round(quantile(members.map(computeNsOf), 0.5))}ns`;
}

function retimedRun(member: Member, retimed: Retimed, drawn: boolean): RetimedRun {
  const { evaluations } = member.series;
  const small = drawn && member.run.experiment.replicas <= mostDrawn;
  return {
    step: Array.from(evaluations.step),
    seconds: Array.from(atEvaluations(member.series, retimed.seconds)),
    total: retimed.seconds.at(-1) ?? 0,
    waiting: retimed.waiting,
    links: small ? retimed.links : [],
    happenings: small && retimed.happenings.length <= mostHappenings ? retimed.happenings : [],
    path: small && retimed.happenings.length <= mostHappenings ? retimed.path : [],
  };
}

/** All runs of the groups on one network. */
export function virtualReport(
  found: NamedNetwork,
  compute: string,
  parts: readonly Seeds[],
  targets: (part: number) => readonly number[],
): VirtualReport {
  const devices = devicesFor(
    found,
    found.devices.compute === undefined && found.devices.perSample === undefined ? { compute } : {},
  );
  const runs: RetimedRun[] = [];
  const groups = parts.map((part, index): RetimedGroup => {
    const timed = part.members.map((member) =>
      retime(member.run.experiment, member.series, { network: found.network, devices }),
    );
    runs.push(...part.members.map((member, place) => retimedRun(member, timed[place]!, place === 0)));
    const counted = part.counted.map((member) => ({ member, retimed: timed[part.members.indexOf(member)]! }));
    const { placement = null } = timed[0] ?? {};
    return {
      seconds: estimate(counted.map(({ retimed }) => retimed.seconds.at(-1))),
      asListed: placement && placement.listedNs / placement.stepNs,
      reached: targets(index).map((percent) => {
        const costs = counted.flatMap(({ member, retimed }) => costOn(percent, member, retimed));
        return {
          accuracy: percent / 100,
          seconds: estimate(costs.map(({ seconds }) => seconds)),
          sentBytes: estimate(costs.map(({ sentBytes }) => sentBytes)),
          runs: costs.length,
        };
      }),
    };
  });
  return {
    name: found.name,
    compute: devices.compute === undefined ? `${devices.perSample} per sample` : timeText(nanoseconds(devices.compute)),
    runs,
    groups,
  };
}

/** Seconds and bytes at the first evaluation that reaches so many percent; nothing if none does. */
function costOn(percent: number, { series }: Member, retimed: Retimed): { seconds: number; sentBytes: number }[] {
  const first = series.evaluations.step.findIndex((_, index) => {
    const hits = hitsAt(series, index);
    return hits !== undefined && reaches(hits, percent);
  });
  if (first < 0) return [];
  const at = (spent: Float64Array) => atEvaluations(series, spent)[first]!;
  return [{ seconds: at(retimed.seconds), sentBytes: at(spending(series).sentBytes) }];
}
