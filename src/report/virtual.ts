import { factsOf } from '../algorithm/facts.ts';
import { quantile } from '../base/statistics.ts';
import { learningFollowsTime } from '../experiment/faults.ts';
import type { NamedNetwork } from '../experiment/network.ts';
import type { Experiment } from '../experiment/schema.ts';
import { estimate } from '../metric/estimate.ts';
import { hitsAt, reaches } from '../metric/hits.ts';
import { ownTimes } from '../metric/own-time.ts';
import { atEvaluations, spending } from '../metric/reach.ts';
import { type Retimed, retime } from '../metric/retime.ts';
import { type DeviceSettings, devicesOf, toMeasure } from '../network/devices.ts';
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

/** The time of a step that was asked for, and what it is where neither the network nor the run says it. */
interface ComputeTime {
  readonly given: string | undefined;
  readonly common: string;
}

/** All runs are given the same time, the median of the runs, so that they differ by their messages alone. */
export const commonCompute = (members: readonly Member[], given: string | undefined): ComputeTime => ({
  given,
  common: `${Math.round(quantile(members.map(computeNsOf), 0.5))}ns`,
});

const timeKeys = ['compute', 'perSample', 'factor', 'measured'];
const entriesOf = (devices: object, isTime: boolean) =>
  Object.fromEntries(Object.entries(devices).filter(([key]) => timeKeys.includes(key) === isTime));

/** What the replicas of a run compute on: as the network says, or else as the run does. */
function devicesIn({ run }: Member, found: NamedNetwork, { given, common }: ComputeTime): DeviceSettings {
  const own: DeviceSettings = run.experiment.devices ?? {};
  const times = [found.devices, toMeasure(own) ? {} : own, { compute: common }].map((each) => entriesOf(each, true));
  const time = given === undefined ? times.find((each) => Object.keys(each).length > 0)! : { compute: given };
  return devicesOf({ ...entriesOf(own, false), ...entriesOf(found.devices, false) }, time);
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

const sorted = (settings: object) => Object.entries(settings).sort(([a], [b]) => (a < b ? -1 : 1));

/** The network and devices without their names, as text. */
function worldText({ network, devices }: World): string {
  const { name: _, ...resolved } = resolvedNetwork(network);
  return JSON.stringify([sorted(resolved), sorted(devices)]);
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
    // One that is shown on its own network needs no excuse on others.
    if (foreign.length === 0 || foreign.length < networks.length) return [];
    const seconds = counted.map(({ run, series }) => onItsOwn(run.experiment, series).seconds.at(-1));
    const whole = estimate(seconds);
    const where = network!.name ?? `a ${network!.kind} network`;
    const took =
      whole === null
        ? ''
        : ` It took ${timeText(1e9 * whole.mean, 3)} on its own, ${where}, where a step computes ${stepText(devices!)}.`;
    return [
      `${names[index]} cannot be timed on ${list(foreign)}: what it learns follows from the time, so there it would be another run; train it there, as in --set network=${foreign[0]}.${took}`,
    ];
  });
}

/** The time of a step as people read it. */
function stepText({ compute, perSample, measured, factor = 1 }: DeviceSettings): string {
  if (compute === undefined) return `${timeText(nanoseconds(perSample!))} per sample`;
  return timeText(factor * nanoseconds(measured ?? compute));
}

/** The networks that runs were trained on, each once. */
export function networksOf(experiments: readonly Experiment[]): readonly NamedNetwork[] {
  const found = new Map<string, NamedNetwork>();
  for (const { network } of experiments) {
    if (network === undefined) continue;
    const { name = network.kind } = network as { readonly name?: string; readonly kind: string };
    found.set(worldText({ network, devices: {} }), { name, network, devices: {} });
  }
  return [...found.values()];
}

/** All runs of the groups on one network. */
export function virtualReport(
  found: NamedNetwork,
  compute: ComputeTime,
  parts: readonly Seeds[],
  targets: (part: number) => readonly number[],
): VirtualReport {
  const { network } = found;
  const devices = (member: Member) => devicesIn(member, found, compute);
  const runs: RetimedRun[] = [];
  const groups = parts.map((part, index): RetimedGroup => {
    const timed = part.members.map((member) => timesOn(member, { network, devices: devices(member) }));
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
          steps: estimate(costs.map(({ steps }) => steps)),
          runs: costs.length,
        };
      }),
    };
  });
  const here = parts.filter((_, index) => !groups[index]!.elsewhere);
  const texts = here.flatMap(({ members }) => members.map((member) => stepText(devices(member))));
  return { name: found.name, compute: [...new Set(texts)].join(' or '), runs, groups };
}

/** Seconds, bytes and steps at the first evaluation that reaches so many percent; nothing if none does. */
function costOn(percent: number, { series }: Member, retimed: Retimed) {
  const first = series.evaluations.step.findIndex((_, index) => {
    const hits = hitsAt(series, index);
    return hits !== undefined && reaches(hits, percent);
  });
  if (first < 0) return [];
  const at = (spent: Float64Array) => atEvaluations(series, spent)[first]!;
  const steps = series.evaluations.step[first]!;
  return [{ seconds: at(retimed.seconds), sentBytes: at(spending(series).sentBytes), steps }];
}
