import { stepOf } from '../algorithm/actions.ts';
import { noMemory } from '../algorithm/consensus.ts';
import { trafficOf } from '../algorithm/traffic.ts';
import { UserError } from '../base/error.ts';
import { mean } from '../base/statistics.ts';
import type { Experiment } from '../experiment/schema.ts';
import type { Rows } from '../kernel/memory.ts';
import { offsetsOf } from '../model/layout.ts';
import { isQueueState, PairQueue, type PairTask } from '../network/queue.ts';
import { LinkCounter } from '../network/usage.ts';
import type { Transport } from '../transport/transport.ts';
import type { Common } from './checkpoint.ts';
import { Clock } from './clock.ts';
import type { PerReplica } from './columns.ts';
import { pairCourseOf } from './course.ts';
import { planOfRun } from './edges.ts';
import type { StepEvent } from './event.ts';
import { meanOf, ownReplicas, perReplica } from './measure.ts';
import { Measured } from './measured.ts';
import { PairExecutor } from './pairs.ts';
import type { TrainingPart } from './part.ts';
import type { EpochPlan } from './plan.ts';
import { type Probe, probeOf } from './probe.ts';
import type { Replicas } from './replicas.ts';
import { startRows } from './start.ts';
import { PairTimes } from './virtual.ts';

/**
 * One worker's part of a run whose replicas average in pairs, each when it has computed. Every worker follows the same queue, a pure function of the
 * experiment (network/queue.ts), so all know who averages with whom in which order.
 *
 * A step is as many exchanges as there are replicas, in the order in which they end, so that a replica makes one step of its own on average. What is
 * measured, evaluated and stored after it is how the replicas are at the virtual time at which the last of these exchanges ends.
 */
export class PairPart implements TrainingPart {
  readonly replicas: Replicas;
  readonly keepsEqual = false;
  readonly virtual: PairTimes;
  readonly links: LinkCounter;
  readonly #experiment: Experiment;
  readonly #transport: Transport;
  readonly #plan: ReturnType<typeof planOfRun>['plan'];
  readonly #clock: Clock;
  readonly #queue: PairQueue;
  readonly #executor: PairExecutor;
  readonly #probe: Probe;

  constructor(experiment: Experiment, transport: Transport, replicas: Replicas) {
    const [network, devices] = [experiment.network!, experiment.devices!];
    this.replicas = replicas;
    this.virtual = new PairTimes(experiment.replicas);
    this.links = new LinkCounter(experiment.replicas);
    this.#experiment = experiment;
    this.#transport = transport;
    this.#plan = planOfRun(experiment).plan;
    this.#clock = new Clock(() => transport.takeWaitMs());
    this.#queue = new PairQueue(pairCourseOf(experiment, { network, devices }, replicas.layout));
    this.#executor = new PairExecutor(transport, replicas, this.#clock);
    this.#probe = probeOf(transport, experiment.probes, offsetsOf(replicas.layout), this.keepsEqual);
  }

  /** Every replica starts from the same parameters, and its first gradient begins there. */
  start(): void {
    const { x } = startRows(this.replicas.layout, this.#experiment.seed);
    for (const [, rows] of this.rows()) for (const i of ownReplicas(this.#transport)) rows.write(i, x);
    this.#transport.barrier();
  }

  /** Pairs average at once. */
  settle(): void {}

  rows(): (readonly [name: string, rows: Rows])[] {
    const { x, begun } = this.#executor;
    return [x, ...begun].map((rows) => [rows.name, rows] as const);
  }

  numbers(): (readonly [name: string, own: Float64Array])[] {
    return this.#executor.numbers.all();
  }

  get model(): Rows {
    return this.#executor.x;
  }

  get memory(): Common {
    return { consensus: noMemory, queue: this.#queue.state, times: this.virtual.state };
  }

  set memory({ queue, times }: Common) {
    if (!isQueueState(queue, this.#transport.replicas))
      throw new UserError(`the checkpoint has no queue of ${this.#transport.replicas} replicas`, {
        hint: 'remove it: the one before it is used then',
      });
    this.#queue.state = queue;
    this.virtual.state = times!;
  }

  merge(): Float32Array {
    return this.#clock.time('mix', () => meanOf(this.#transport, this.model));
  }

  async step(t: number, plan: EpochPlan): Promise<{ event: StepEvent; measured: Measured }> {
    const { replicas } = this.#transport;
    const measured = new Measured(t);
    const tasks = this.#queue.take(replicas);
    // Some replicas make more steps than a run has: their learning rate stays what it is at its end.
    await this.#executor.step(tasks, (step) => plan.learningRate(Math.min(step, plan.steps - 1)));
    this.virtual.step(tasks, 4 * this.model.columns, this.links);
    measured.virtual = this.virtual;
    measured.gossips = 1;
    measured.sent(
      trafficOf(this.#plan, stepOf(this.#plan, { t, steps: plan.steps, eta: 1, etaBefore: 1 }), {
        replicas,
        degree: plan.degree,
        columns: this.model.columns,
        compressedBytes: 0,
      }),
    );
    const look = () => this.#probe(t, this.model, this.#executor.gradients, plan.topology.mixing(0));
    Object.assign(measured, this.#clock.time('probe', look));
    measured.ownSteps = perReplica(this.#transport, (i) => this.#queue.applied(i));
    measured.staleness = stalenessIn(tasks, replicas);
    const { numbers } = this.#executor;
    const outcomes = ownReplicas(this.#transport).map((i) => ({
      loss: numbers.of('loss', i),
      accuracy: numbers.of('accuracy', i),
      gradientNorm: numbers.of('gradientNorm', i),
    }));
    const event = measured.event(t, plan, this.#transport, outcomes, this.#clock.take());
    // Slow ones may not have come to their first yet.
    const known = (values: PerReplica) => values.map((value, i) => (this.#queue.applied(i) === 0 ? null : value));
    const { loss, accuracy, gradientNorm } = event;
    return {
      event: { ...event, loss: known(loss), accuracy: known(accuracy), gradientNorm: known(gradientNorm) },
      measured,
    };
  }
}

/** By replica, the mean over the gradients that it applied; null if there is none. */
function stalenessIn(tasks: readonly PairTask[], n: number): PerReplica {
  const each = Array.from({ length: n }, (): number[] => []);
  for (const task of tasks) if (task.do === 'exchange') each[task.replica]!.push(task.staleness);
  return each.map((found) => (found.length === 0 ? null : mean(found)));
}
