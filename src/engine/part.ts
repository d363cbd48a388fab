import { type Action, computesGradient, keptRows, stepOf } from '../algorithm/actions.ts';
import { compressorFor } from '../algorithm/choose.ts';
import { factsOf } from '../algorithm/facts.ts';
import type { Plan } from '../algorithm/method.ts';
import { isBetween } from '../algorithm/stage.ts';
import { gossipTraffic, trafficOf } from '../algorithm/traffic.ts';
import type { Experiment } from '../experiment/schema.ts';
import type { Rows } from '../kernel/memory.ts';
import { offsetsOf, rowSize } from '../model/layout.ts';
import type { Attendance } from '../network/faults/presence.ts';
import { changesLearning } from '../network/faults/settings.ts';
import { LinkCounter } from '../network/usage.ts';
import { type Between, meanOfLast } from '../topology/cohort.ts';
import type { EdgeSets } from '../topology/edges.ts';
import { isDoublyStochastic, type Mixing } from '../topology/mixing.ts';
import type { Transport } from '../transport/transport.ts';
import { bringBack, type Holdings, putAside } from './absence.ts';
import type { Common } from './checkpoint.ts';
import { Clock } from './clock.ts';
import { ConsensusControl } from './control.ts';
import { planOfRun } from './edges.ts';
import { known, type StepEvent } from './event.ts';
import { Executor } from './execute.ts';
import { FaultyRounds } from './faults.ts';
import { copyOf, meanOf, ownReplicas } from './measure.ts';
import { Measured } from './measured.ts';
import type { EpochPlan } from './plan.ts';
import { type Probe, probeOf } from './probe.ts';
import type { Replicas } from './replicas.ts';
import { startRows } from './start.ts';
import { type StepTimes, VirtualTime } from './virtual.ts';

/** What the loop asks of a worker's part of a run, whichever way its replicas take their steps. */
export type TrainingPart = Pick<
  Part,
  'replicas' | 'keepsEqual' | 'model' | 'memory' | 'start' | 'settle' | 'rows' | 'numbers' | 'merge' | 'step' | 'links'
> & { readonly virtual: StepTimes | undefined };

/** One worker's part of a run: its replicas, taken through the actions of each step together with the other workers. */
export class Part {
  readonly replicas: Replicas;
  readonly control: ConsensusControl;
  readonly plan: Plan;
  /** When replicas do what, if there is a network; and what they send over it. */
  readonly virtual: VirtualTime | undefined;
  readonly links: LinkCounter;
  /** Who hears whom, if messages are lost or replicas come and go. */
  readonly faults: FaultyRounds | undefined;
  readonly #experiment: Experiment;
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #executor: Executor;
  /** Over which single messages go, if the method has such. */
  readonly #edges: EdgeSets | undefined;
  readonly #columns: number;
  readonly #probe: Probe;
  readonly #compressedBytes: number;
  /** Everyone hears all servers, if there are such. */
  readonly #servers: Mixing | undefined;
  #measured = new Measured(0);

  /** @param steps of the whole run */
  constructor(experiment: Experiment, transport: Transport, replicas: Replicas, steps: number) {
    const { optimizer, consensus, algorithm, seed, network, devices, faults } = experiment;
    this.replicas = replicas;
    ({ plan: this.plan, edges: this.#edges } = planOfRun(experiment));
    this.#servers = meanOfLast(experiment.replicas, factsOf(algorithm).servers);
    this.#experiment = experiment;
    this.#transport = transport;
    this.#clock = new Clock(() => transport.takeWaitMs());
    this.#columns = rowSize(replicas.layout);
    const offsets = offsetsOf(replicas.layout);
    this.#probe = probeOf(transport, experiment.probes, offsets, this.keepsEqual);
    const compressor = compressorFor(algorithm, offsets);
    this.#compressedBytes = compressor?.bytes ?? 0;
    const lazy = consensus.kind === 'none' && !changesLearning(faults);
    const machine = { columns: this.#columns, clock: this.#clock, compressor, seed, edges: this.#edges, lazy };
    this.#executor = new Executor(this.plan, transport, replicas, machine);
    const momentum = 'momentum' in optimizer ? optimizer.momentum : 0;
    this.links = new LinkCounter(experiment.replicas);
    const timed = network && { network, devices: devices! };
    this.virtual = timed && new VirtualTime(experiment, timed, replicas.layout, steps, this.links);
    this.faults = changesLearning(faults) ? new FaultyRounds(faults!, experiment, this.virtual?.faults) : undefined;
    this.control = new ConsensusControl(consensus, momentum, transport, (...traffic) =>
      this.#measured.sent(...traffic),
    );
  }

  /** Every replica starts from the same parameters. */
  start(): void {
    const start = startRows(this.replicas.layout, this.#experiment.seed);
    for (const [name, rows] of this.rows())
      for (const i of ownReplicas(this.#transport)) rows.write(i, start[this.plan.rows[name] ?? 'x']);
    this.#transport.barrier();
  }

  /** Collective, before rows are looked at between steps: makes the averages that were left to the next one. */
  settle(): void {
    this.#executor.settle();
  }

  /** The rows that outlast a step, by name. */
  rows(): (readonly [name: string, rows: Rows])[] {
    return keptRows(this.plan).map((name) => [name, this.#executor.places.of(name)] as const);
  }

  /** A number of each own replica that outlasts a step, by name. */
  numbers(): (readonly [name: string, own: Float64Array])[] {
    return Object.keys(this.plan.numbers).map((name) => [name, this.#executor.numbers.own(name)] as const);
  }

  /** What all ranks know alike and a checkpoint must hold. */
  get memory(): Common {
    const away = this.faults?.faults.out;
    return { consensus: this.control.memory, times: this.virtual?.state, away };
  }

  set memory({ consensus, times, away = [] }: Common) {
    this.control.memory = consensus;
    if (this.virtual !== undefined && times !== undefined) this.virtual.state = times;
    if (this.faults === undefined) return;
    this.faults.faults.out = away;
    this.#transport.sendAway(away);
  }

  /** Those who have left take no part in the step, and those who are back do again; returns what is to be done after it. */
  #attend({ absent, returned }: Attendance): () => void {
    const { plan, model } = this;
    const kept: Holdings = {
      plan,
      model,
      spare: this.#executor.places.spare,
      rows: () => this.rows(),
      numbers: () => this.numbers(),
    };
    const { churn } = this.faults!.settings;
    if (churn !== undefined)
      bringBack(kept, this.#transport, this.replicas, returned, churn.back, this.#experiment.seed);
    this.#transport.sendAway(absent);
    this.#executor.away = new Set(absent);
    return putAside(kept, this.#transport, absent);
  }

  /** Whether all replicas have the same parameters after every step. */
  get keepsEqual(): boolean {
    return this.plan.equal.has(this.plan.modelRow);
  }

  /** What is measured, evaluated and merged. */
  get model(): Rows {
    return this.#executor.places.of(this.plan.modelRow);
  }

  /** One exact average over all replicas, or over the servers. */
  merge(): Float32Array {
    return this.#clock.time('mix', () => {
      if (this.#servers === undefined) return meanOf(this.#transport, this.model);
      const { spare } = this.#executor.places;
      this.#transport.mix(this.#servers, this.model, spare);
      const mean = copyOf(spare, this.#transport.first);
      this.#transport.barrier();
      return mean;
    });
  }

  /** One step; its event and what was measured are the same on every worker. */
  async step(t: number, plan: EpochPlan): Promise<{ event: StepEvent; measured: Measured }> {
    const measured = new Measured(this.control.memory.gossips);
    this.#measured = measured;
    const [eta, etaBefore] = [plan.learningRate(t), plan.learningRate(Math.max(0, t - 1))];
    const epoch = t / plan.stepsPerEpoch;
    const { faults } = this;
    const [control, executor] = [this.control, this.#executor];
    const number = (name: string) => executor.numbers.of(name, this.#transport.first);
    const step = stepOf(this.plan, { t, steps: plan.steps, eta, etaBefore, number }, control.wishes);
    measured.trains = step.actions.some(computesGradient);
    const attendance = faults?.begin(t, plan, control.memory.gossips, this.virtual, step.branch);
    const putBack = attendance && this.#attend(attendance);
    measured.attendance = attendance;
    const lastMix = step.actions.findLast((action) => action.do === 'mix');
    const faulty = () => faults?.weights(plan.topology, control.memory.gossips);
    const { cohort } = plan.topology;
    const mixing = (between?: Between) =>
      between === undefined
        ? (faulty()?.heard ?? plan.topology.mixing(control.memory.gossips))
        : cohort!.mixing(between, control.memory.gossips);
    const sent = (between?: Between) => this.#transport.surviving(faulty()?.sent ?? mixing(between));
    const { length: replicas } = this.#transport.present;
    const heard = (between?: Between) =>
      this.#edges === undefined || faults !== undefined
        ? gossipTraffic(sent(between), replicas, 0).messages
        : this.#edges.degree;
    if (faults !== undefined && this.#edges !== undefined)
      executor.numbers.setEdges(...faults.edges(this.#edges, plan.topology, control.memory.gossips));
    const degree = step.actions.some((action) => ['mix', 'send', 'evolve'].includes(action.do)) ? heard() : 0;
    measured.sent(
      trafficOf(this.plan, step, {
        replicas,
        degree,
        degreeBy: cohort && ((by) => heard(isBetween(by) ? by : undefined)),
        columns: this.#columns,
        tensors: this.replicas.layout,
        compressedBytes: this.#compressedBytes,
        answers: { samples: this.#experiment.batch, classes: this.replicas.layout.at(-1)!.size },
      }),
    );
    const averaged = () => {
      control.memory = { ...control.memory, gossips: control.memory.gossips + 1 };
      measured.gossips += 1;
    };
    const again = () => {
      const surviving = this.#transport.surviving(mixing());
      const traffic = gossipTraffic(sent(), replicas, this.#columns);
      executor.mixAgain('x', mixing());
      averaged();
      measured.sent(traffic);
      return isDoublyStochastic(surviving);
    };
    await executor.step(step, {
      t,
      weights: (by) => {
        if (typeof by === 'number') return this.#edges!.partners[by - 1]!;
        return by === 'A'
          ? (faulty()?.push() ?? plan.topology.push(control.memory.gossips))
          : mixing(isBetween(by) ? by : undefined);
      },
      trains: (i) => cohort === undefined || cohort.trains(i, measured.round),
      probe: (rows) => {
        const look = () => this.#probe(t, rows, executor.places.spare, lastMix && mixing());
        Object.assign(measured, this.#clock.time('probe', look));
      },
      signal: (gradients) => {
        if (lastMix !== undefined) control.estimate(epoch, executor.outcomes, gradients, executor.places.of('x'));
      },
      ...(control.active && {
        spared: (action: Action, rows: Rows) => {
          const found = action === lastMix ? control.unneeded(epoch, eta, rows) : undefined;
          if (found === undefined) return false;
          measured.controlled = found;
          measured.unsent(gossipTraffic(sent(), replicas, this.#columns));
          return true;
        },
      }),
      mixed: (action) => {
        if (action !== lastMix) return;
        const kept = control.active && isDoublyStochastic(this.#transport.surviving(mixing()));
        averaged();
        measured.controlled = control.hold(() => executor.places.of('x'), kept, again);
      },
    });
    await control.observe(executor.places.of('x'), () => executor.gradientsAgain('x'));
    putBack?.();
    const { round, gossips, controlled } = measured;
    const timed = { t, epoch: plan.epoch, round, gossips, measured: controlled.distance !== null, branch: step.branch };
    if (faults?.early !== true) this.#clock.time('probe', () => this.virtual?.step(timed));
    measured.virtual = this.virtual;
    const told = Object.entries(this.plan.method.signals ?? {}).map(([signal, name]) => [signal, known(number(name))]);
    measured.signals = { ...measured.signals, ...Object.fromEntries(told), branch: step.branch ?? null };
    const event = measured.event(t, plan, this.#transport, executor.outcomes, this.#clock.take());
    return { event, measured };
  }
}
