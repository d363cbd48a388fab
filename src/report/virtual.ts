import { factsOf } from '../algorithm/facts.ts';
import { quantile } from '../base/statistics.ts';
import { learningFollowsTime } from '../experiment/faults.ts';
import { devicesFor, type NamedNetwork } from '../experiment/network.ts';
import type { Experiment } from '../experiment/schema.ts';
import { estimate } from '../metric/estimate.ts';
import { hitsAt, reaches } from '../metric/hits.ts';
import { ownTimes } from '../metric/own-time.ts';
import { atEvaluations, spending } from '../metric/reach.ts';
import { type Retimed, retime } from '../metric/retime.ts';
import type { DeviceSettings } from '../network/devices.ts';
import { type NetworkSettings, resolvedNetwork } from '../network/network.ts';
import { timeText } from '../network/text.ts';
import { nanoseconds } from '../network/units.ts';
import { readContext } from '../store/runs.ts';
import type { Seeds } from './group.ts';
import type { RetimedGroup, RetimedRun, VirtualReport } from './report.ts';
import type { Member } from './run.ts';
import { list } from './words.ts';

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

/** A run that was not made on the network, and cannot be timed on it. */
const elsewhere: RetimedRun = { step: [], seconds: [], total: 0, waiting: [], links: [], happenings: [], path: [] };

interface World {
  readonly network: NetworkSettings;
  readonly devices: DeviceSettings;
}

/** The network and devices without their names, as text. */
function worldText({ network, devices }: World): string {
  const { name: _, ...resolved } = resolvedNetwork(network);
  return JSON.stringify([resolved, devices]);
}

/** Undefined if learning followed time, on another network: there it would have been another run. */
function timesOn({ run: { experiment }, series }: Member, given: World): Retimed | undefined {
  if (!learningFollowsTime(experiment)) return retime(experiment, series, given);
  return worldText(worldOf(experiment)) === worldText(given) ? onItsOwn(experiment, series) : undefined;
}

const worldOf = ({ network, devices }: Experiment): World => ({ network: network!, devices: devices! });

/** The times of a run on the network that it was made on. */
const onItsOwn = (experiment: Experiment, series: Member['series']): Retimed =>
  factsOf(experiment.algorithm).asynchronous
    ? ownTimes(experiment, series)
    : retime(experiment, series, worldOf(experiment));

/** Which implementations are not timed on networks that they were not trained on, why, and what is known of them. */
export function elsewhereNotes(
  networks: readonly VirtualReport[],
  parts: readonly Seeds[],
  names: readonly string[],
): string[] {
  return parts.flatMap(({ counted, experiment: { network, devices } }, index) => {
    const foreign = networks.filter(({ groups }) => groups[index]!.elsewhere).map(({ name }) => name);
    if (foreign.length === 0) return [];
    const seconds = counted.map(({ run, series }) => onItsOwn(run.experiment, series).seconds.at(-1));
    const whole = estimate(seconds);
    const where = network!.name ?? `a ${network!.kind} network`;
    const took =
      whole === null
        ? ''
        : ` It took ${timeText(1e9 * whole.mean, 3)} on its own, ${where}, where ${computeText(devices!)}.`;
    return [
      `${names[index]} cannot be timed on ${list(foreign)}: who averages with whom follows from the time, so there it would be another run; train it there, as in --set network=${foreign[0]}.${took}`,
    ];
  });
}

const computeText = ({ compute, perSample, measured }: DeviceSettings): string =>
  compute === undefined
    ? `each sample of a step computes ${timeText(nanoseconds(perSample!))}`
    : `a step computes ${timeText(nanoseconds(measured ?? compute))}`;

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
    const timed = part.members.map((member) => timesOn(member, { network: found.network, devices }));
    runs.push(
      ...part.members.map((member, place) => {
        const retimed = timed[place];
        return retimed === undefined ? elsewhere : retimedRun(member, retimed, place === 0);
      }),
    );
    const counted = part.counted.flatMap((member) => {
      const retimed = timed[part.members.indexOf(member)];
      return retimed === undefined ? [] : [{ member, retimed }];
    });
    const { placement = null } = timed[0] ?? {};
    return {
      elsewhere: timed.includes(undefined),
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
