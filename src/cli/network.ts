import { Command, Option } from 'commander';
import { factsOf } from '../algorithm/facts.ts';
import { algorithmSchema } from '../algorithm/schema.ts';
import { UserError } from '../base/error.ts';
import { maxSeed } from '../base/random.ts';
import { parse } from '../base/schema.ts';
import { wholeNumber } from '../base/whole-number.ts';
import { constantCourse, courseOf, pairCourseOf, type Shaped, type TimedSettings } from '../engine/course.ts';
import { devicesFor, findNetwork, type NamedNetwork } from '../experiment/network.ts';
import { parseText } from '../experiment/source.ts';
import { describeModel } from '../model/describe.ts';
import { buildModel } from '../model/models.ts';
import { collectiveOf } from '../network/collective.ts';
import { buildNetwork, resolvedNetwork } from '../network/network.ts';
import type { Placement } from '../network/premises.ts';
import { presets } from '../network/presets.ts';
import { steadyPairs } from '../network/queue.ts';
import { type Course, criticalCycle, type Steady, steadyState } from '../network/steady.ts';
import { rateText, timeText } from '../network/text.ts';
import type { Between } from '../topology/cohort.ts';
import { contraction, pairContraction } from '../topology/contraction.ts';
import { mostReplicas } from '../topology/kind.ts';
import { kinds } from '../topology/kinds.ts';
import { scheduleSchema } from '../topology/schedule.ts';
import { jsonOption, placementOption } from './options.ts';
import { bytes, fields, number, percent, ratio, table, textWidth, wrap } from './print.ts';
import { type ModelOptions, modelOptions, modelSettings, taskOf } from './settings.ts';

interface Options extends ModelOptions {
  readonly n: string;
  readonly topology?: string;
  readonly algorithm: string;
  readonly model?: string;
  readonly parameters?: string;
  readonly compute?: string;
  readonly placement?: string;
  readonly seed: string;
  readonly json?: true;
}

function list(options: { json?: true }): void {
  if (options.json) {
    console.log(JSON.stringify(presets, null, 2));
    return;
  }
  const rows = presets.map(({ name, aliases = [], summary, network }) => {
    const { upRates, downRates, way } = buildNetwork({ kind: name }, 12);
    const { latencyNs, rate, up, down } = way(0, 11);
    return [
      name,
      [...aliases, String(network.kind)].join(', '),
      rateText(Math.min(rate, upRates[up]!, downRates[down]!)),
      timeText(latencyNs, 3),
      summary,
    ];
  });
  console.log(table(['network', 'also', 'rate', 'latency', 'summary'], rows, ['also', 'summary'], { drop: ['also'] }));
  console.log('\nrate and latency: of one message from the first to the last of 12 devices, with their efficiency');
  console.log('all settings of one: dbench network show NAME; your own network: docs/network.md');
}

function show(name: string, options: { json?: true }): void {
  const found = findNetwork(name);
  const preset = presets.find((each) => each.name === found.name);
  const settings = { network: resolvedNetwork(found.network), devices: found.devices };
  if (options.json) {
    console.log(JSON.stringify({ name: found.name, source: preset?.source, ...settings }, null, 2));
    return;
  }
  const shown = (value: unknown): string => {
    const text =
      typeof value === 'object' ? JSON.stringify(value).replaceAll('"', '').replaceAll(',', ', ') : String(value);
    return text.length > 400 ? `${text.slice(0, 400)} …` : text;
  };
  console.log(`${found.name}${preset === undefined ? '' : `: ${preset.summary}\nfrom: ${preset.source}`}\n`);
  console.log(fields(Object.entries(settings.network).map(([key, value]) => [key, shown(value)])));
  if (Object.keys(settings.devices).length > 0) console.log(fields([['devices', shown(settings.devices)]]));
}

/** A kind, or settings as in "{ kind: lattice, k: 4 }". */
const kindOf = (text: string, where: string) => {
  const given = parseText(text, where);
  return typeof given === 'object' ? given : { kind: String(given) };
};

/** What is timed, apart from the network. */
function subject(
  options: Options,
  topology: string,
): { settings: TimedSettings; tensors: readonly Shaped[]; what: string } {
  const n = wholeNumber('-n', options.n, 1, mostReplicas);
  const settings = {
    replicas: n,
    seed: wholeNumber('--seed', options.seed, 0, maxSeed),
    epochs: 1,
    batch: options.batch,
    algorithm: parse(algorithmSchema, kindOf(options.algorithm, '--algorithm'), '--algorithm'),
    topology: parse(scheduleSchema, kindOf(topology, '--topology'), '--topology'),
  } as TimedSettings;
  if ((options.model === undefined) === (options.parameters === undefined))
    throw new UserError('the size of the model is missing', {
      hint: 'give either --model, as in --model resnet20, or --parameters 272474',
    });
  if (options.parameters !== undefined) {
    const parameters = wholeNumber('--parameters', options.parameters, 1, 1e12);
    return { settings, tensors: [{ size: parameters, shape: [parameters] }], what: `${number(parameters)} parameters` };
  }
  const model = modelSettings(options.model!, options);
  const { tensors, parameters } = describeModel(buildModel(model, taskOf(model, options)), 1);
  return {
    settings,
    tensors,
    what: `${options.model}, ${number(parameters)} parameters`,
  };
}

const compute = (options: Options) => (options.compute === undefined ? {} : { compute: options.compute });

interface Timed extends Steady {
  readonly course: Course;
  readonly placement?: Placement;
  readonly meanComputeNs: number;
  /** Nobody waits for all: a step is as many gradients as there are replicas. */
  readonly inPairs: boolean;
  readonly sentBytes: number;
  readonly allReduceNs: number;
  readonly allReduceBy: string;
}

/** A step's time in the long run, and what all-reduce would take in its place. */
function timed(found: NamedNetwork, options: Options, topology: string): Timed {
  const { settings, tensors } = subject(options, topology);
  const { replicas: n } = settings;
  const given = { network: found.network, devices: devicesFor(found, compute(options)) };
  const whole = courseOf(settings, given, tensors);
  const course = constantCourse(whole);
  const inPairs = factsOf(settings.algorithm).asynchronous;
  const steady = inPairs ? steadyPairs(pairCourseOf(settings, given, tensors)) : steadyState(course);
  const rowBytes = 4 * tensors.reduce((sum, { size }) => sum + size, 0);
  const together = courseOf({ ...settings, algorithm: { kind: 'centralized' } } as TimedSettings, given, tensors);
  const meanComputeNs = Array.from({ length: n }, (_, i) => course.compute(i, 0)).reduce((a, b) => a + b, 0) / n;
  return {
    ...steady,
    course,
    ...(whole.placement && { placement: whole.placement }),
    meanComputeNs,
    inPairs,
    sentBytes: inPairs ? 2 * rowBytes : sentPerStep(course, n),
    allReduceNs: steadyState(constantCourse(together), 200).stepNs,
    allReduceBy: collectiveOf(course.network, rowBytes).name,
  };
}

/** By one replica, mean over replicas and the steps of a period. */
function sentPerStep({ pattern, patternPeriod, hearing, hearingPeriod }: Course, n: number): number {
  const steps = Math.min(200, patternPeriod * (Number.isFinite(hearingPeriod) ? hearingPeriod : 20));
  let total = 0;
  let gossip = 0;
  for (let t = 0; t < steps; t++) {
    const edges = (between?: Between) => hearing(gossip, between).reduce((sum, row) => sum + row.length, 0);
    const { work } = pattern(t);
    for (const each of work) {
      if (each.do === 'gossip') total += (each.bytes * edges(each.between)) / n;
      if (each.do === 'tell') total += (each.bytes * edges()) / n;
      if (each.do === 'mean') total += (2 * (n - 1) * each.bytes) / n;
    }
    if (work.some((each) => each.do === 'gossip' || each.do === 'recall')) gossip += 1;
  }
  return total / steps;
}

const repeats = ({ exact, steps }: Steady) =>
  exact ? 'exact: its times repeat' : `mean over the second half of ${number(steps)} steps`;

function time(word: string, options: Options): void {
  const found = findNetwork(word, options.placement);
  const kind = options.topology ?? 'ring';
  const { course, inPairs, ...steady } = timed(found, options, kind);
  const cycle = inPairs ? undefined : criticalCycle(course);
  const { network } = course;
  const name = (i: number) => network.names?.[i] ?? String(i);
  if (options.json) {
    const named = cycle && { ...cycle, names: cycle.replicas.map(name) };
    console.log(JSON.stringify({ network: found.name, replicas: network.n, ...steady, cycle: named ?? null }, null, 2));
    return;
  }
  const waits = steady.waiting;
  console.log(
    `${found.name}: ${options.algorithm} on ${kind}, ${number(network.n)} replicas, ${subject(options, kind).what}\n`,
  );
  console.log(
    fields([
      ['time per step', `${timeText(steady.stepNs)} (${repeats(steady)})`],
      ['of it compute', `${timeText(steady.meanComputeNs)}, mean of the replicas`],
      ['waiting', `${percent(Math.min(...waits))} to ${percent(Math.max(...waits))} % of a replica's time`],
      ['sent per step', `${bytes(steady.sentBytes)} by one replica`],
      [
        'all-reduce',
        `${timeText(steady.allReduceNs)} per step (${steady.allReduceBy}), ${ratio(steady.allReduceNs, steady.stepNs)} as long`,
      ],
      ...placementFields(steady.placement, name),
      [
        'critical cycle',
        cycle === undefined
          ? inPairs
            ? 'none: nobody waits for all'
            : 'none within the steps that were followed'
          : cycleText(cycle, name),
      ],
    ]),
  );
}

/** Which devices replicas are on, and what that gains for plain gossip. */
function placementFields(placement: Placement | undefined, name: (i: number) => string): [string, string][] {
  if (placement === undefined) return [];
  const { order, stepNs, listedNs, all } = placement;
  const gain = stepNs < listedNs ? `${percent(1 - stepNs / listedNs)} % less than` : 'no better than';
  const shown = order.slice(0, mostNamed).map((_, i) => name(i));
  return [
    ['devices', `${shown.join(', ')}${order.length > mostNamed ? ` … (${order.length})` : ''}`],
    [
      'plain gossip',
      `${timeText(stepNs)} per step, ${gain} ${timeText(listedNs)} as listed${all ? ' (best of all orders)' : ''}`,
    ],
  ];
}

/** Replicas that are listed by name. */
const mostNamed = 24;

/** `3 → 4 → 3, 2 steps`: each computes and sends to the next. */
function cycleText(
  { replicas, steps }: { replicas: readonly number[]; steps: number },
  name: (i: number) => string,
): string {
  if (replicas.length === 1 && steps === 1) return `${name(replicas[0]!)} alone: its own compute decides`;
  // Steps that one makes by itself are told once.
  const way = replicas.filter((i, place) => place === 0 || i !== replicas[place - 1]);
  const shown = [...way.slice(0, mostNamed), ...(way.length > mostNamed ? [] : [way[0]!])].map(name);
  return `${shown.join(' → ')}${way.length > mostNamed ? ` → … (${way.length} replicas)` : ''}, ${steps} steps`;
}

interface Compared {
  readonly name: string;
  readonly stepNs?: number;
  readonly exact?: boolean;
  readonly sentBytes?: number;
  readonly allReduceNs?: number;
  readonly placement?: Placement;
  readonly gap?: number;
  readonly reason?: string;
}

function attempt(name: string, work: () => Omit<Compared, 'name'>): Compared {
  try {
    return { name, ...work() };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { name, reason: error.message };
  }
}

function compare(options: Options & { readonly network?: string }): void {
  if ((options.network === undefined) === (options.topology === undefined))
    throw new UserError('say what stays the same: a network or a topology', {
      hint: 'all topologies on one network: --network 10gbe; one topology on all networks: --topology ring',
    });
  const { network, topology } = options;
  // A mistake that all rows share is told once.
  subject(options, topology ?? 'complete');
  devicesFor(findNetwork(network ?? presets[0]!.name), compute(options));
  const rows =
    network !== undefined
      ? kinds
          .filter(({ name }) => name !== 'file')
          .map(({ name }) => attempt(name, () => onOne(findNetwork(network, options.placement), options, name)))
      : presets.map(({ name }) => attempt(name, () => onOne(findNetwork(name, options.placement), options, topology!)));
  const known = rows.filter((row) => row.stepNs !== undefined).toSorted((a, b) => a.stepNs! - b.stepNs!);
  const unknown = rows.filter((row) => row.stepNs === undefined);
  if (unknown.length === rows.length) throw new UserError(unknown[0]!.reason!);
  if (options.json) {
    console.log(JSON.stringify([...known, ...unknown], null, 2));
    return;
  }
  const best = known[0]!.stepNs!;
  const what = network === undefined ? 'network' : 'topology';
  const gains = known.some(({ placement }) => placement !== undefined);
  const headers = [
    ...[what, 'per step', 'to the best', ...(gains ? ['as listed'] : [])],
    ...['sent', 'all-reduce', 'gap', 'e-fold'],
  ];
  const lines = known.map(({ name, stepNs, exact, sentBytes, allReduceNs, placement, gap }) => [
    name,
    `${exact ? '' : '≈ '}${timeText(stepNs!)}`,
    ratio(stepNs!, best),
    ...(gains ? [placement === undefined ? '–' : ratio(placement.listedNs, placement.stepNs)] : []),
    bytes(sentBytes!),
    timeText(allReduceNs!),
    number(gap!, 3),
    gap! >= 1 ? timeText(stepNs!) : gap! <= 0 ? 'never' : timeText(stepNs! / -Math.log(1 - gap!)),
  ]);
  console.log(
    `${network === undefined ? `${topology} on every network` : `All topologies on ${network}`}, fastest step first: ${options.n} replicas, ${subject(options, topology ?? 'complete').what}\n`,
  );
  console.log(table(headers, lines, [], { drop: ['gap', 'all-reduce'] }));
  console.log(
    `\n${wrap(`${gains ? 'as listed: plain gossip with devices in their order, against the placement · ' : ''}sent: by one replica per step · all-reduce: a step with the exact mean of gradients instead · gap: spectral gap · e-fold: time in which differences between replicas shrink to 1/e`, textWidth())}`,
  );
  for (const { name, reason } of unknown) console.log(wrap(`left out: ${name}: ${reason}`, textWidth(), '  '));
}

function onOne(found: NamedNetwork, options: Options, topology: string): Omit<Compared, 'name'> {
  const { course: _, inPairs, stepNs, exact, sentBytes, allReduceNs, placement } = timed(found, options, topology);
  const { settings } = subject(options, topology);
  const built = courseTopology(settings, found, options);
  const modulus = inPairs ? pairContraction(built) : contraction(built).modulus;
  return { stepNs, exact, sentBytes, allReduceNs, ...(placement && { placement }), gap: 1 - modulus };
}

const courseTopology = (settings: TimedSettings, found: NamedNetwork, options: Options) =>
  courseOf(settings, { network: found.network, devices: devicesFor(found, compute(options)) }, [
    { size: 1, shape: [1] },
  ]).topology(0);

function common(command: Command): Command {
  command
    .requiredOption('-n, --n <replicas>', 'number of replicas')
    .option('--topology <kind>', 'a kind, or settings as in "{ kind: lattice, k: 4 }"')
    .option('--algorithm <kind>', 'a method, or settings as in "{ kind: dpsgd, localSteps: 4 }"', 'dpsgd')
    .option('--model <kind>', 'whose parameters are sent, as dbench model names it')
    .option('--parameters <count>', 'size of the model, instead of --model')
    .option('--compute <time>', 'time of one gradient and its step, as in 20ms')
    .addOption(placementOption())
    .addOption(new Option('--seed <number>', 'for random topologies and noise').default('1'));
  for (const option of modelOptions(32)) if (option.long !== '--optimizer') command.addOption(option);
  return command.addOption(jsonOption());
}

export function command(): Command {
  const network = new Command('network');
  network.command('list').description('the networks that have a name').addOption(jsonOption()).action(list);
  network
    .command('show')
    .description('the settings of a network, and where they are from')
    .argument('<name>', 'as dbench network list names it, or a file of yours')
    .addOption(jsonOption())
    .action(show);
  common(
    network
      .command('time')
      .description('how long a step takes in the long run, and which replicas decide it')
      .argument('<network>', 'a name, or a file of yours'),
  ).action(time);
  common(
    network
      .command('compare')
      .description('all topologies on one network, or one topology on all networks')
      .option('--network <name>', 'the network that all topologies are timed on'),
  ).action(compare);
  return network;
}
