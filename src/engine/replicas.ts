import type { Programs } from '../algorithm/places.ts';
import { Random } from '../base/random.ts';
import type { Experiment } from '../experiment/schema.ts';
import type { Rows } from '../kernel/memory.ts';
import { initialise, type Layout, type PlacedParameter, rowSize } from '../model/layout.ts';
import { buildModel } from '../model/models.ts';
import { allocate, evalStep, gradientStep, type Step, stepBuffers, trainStep, updateStep } from '../model/step.ts';
import { optimizer } from '../optim/optimizer.ts';
import type { Transform } from '../optim/transform.ts';
import type { Backend, BoundRun, Buffers, Numbers } from '../tensor/backend.ts';
import type { PlacedRow } from '../transport/transport.ts';
import { openDistiller } from './distil.ts';
import type { Score } from './event.ts';
import { evolver } from './evolve.ts';
import type { EvaluationSet, Feed } from './feed.ts';
import { copyOf } from './measure.ts';
import { type PrivateMemory, PrivateRows } from './private-rows.ts';

/** What one replica's step found. */
export interface Outcome {
  readonly loss: number;
  readonly accuracy: number;
  readonly gradientNorm: number;
}

/** There already, if the backend has it when it returns: a promise per replica and step would take its time. */
export type Later<T> = T | Promise<T>;

type OptimizerPass = (
  replica: number,
  step: number,
  learningRate: number,
  params: Rows,
  gradient: PlacedRow,
) => Later<Float32Array>;

/** The replicas of one rank: their programs, their private rows, and the steps they take. */
export interface Replicas {
  readonly layout: Layout<PlacedParameter>;
  /** Puts the batch of a replica in place. */
  load(replica: number, step: number): void;
  /** Gradient and optimizer in one, on the batch that was loaded: the parameters in a row of `from`, its own unless given → the replica's in `to`. */
  adapt(replica: number, step: number, learningRate: number, from: Rows, to: Rows, row?: number): Later<Outcome>;
  /** The gradient alone: of the replica's parameters in `from`, into its row of `to`. */
  gradient(replica: number, step: number, from: Rows, to: Rows): Later<Outcome>;
  /** The same once more for the batch of this step, without any other trace; only if gradient and update are apart. */
  gradientAgain(replica: number, step: number, from: Rows, to: Rows): Promise<Outcome>;
  /** The gradient of how far the answers of `from` to the batch of this step are from those of `teacher`, without any other trace. */
  distil(replica: number, step: number, from: Rows, teacher: Rows, to: Rows): Promise<void>;
  /** Along the tangent kernel of `from` on the batches of these replicas, for the best of some numbers of steps. */
  evolve(
    replica: number,
    step: number,
    learningRate: number,
    taus: readonly number[],
    heard: readonly number[],
    from: Rows,
    to: Rows,
  ): Promise<Outcome>;
  /** The optimizer alone, with the replica's slots and row of parameters; the new ones, which are good until the next update. */
  readonly update: OptimizerPass;
  /** The optimizer alone, from the replica's rows of parameters and gradient into that of another matrix. */
  updateRow(replica: number, step: number, learningRate: number, params: Rows, gradient: Rows, to: Rows): Promise<void>;
  /** The direction in which the optimizer moves instead, as `update` for plain descent along it. */
  readonly direction: OptimizerPass;
  /** The optimizer goes on with the replica's row of `from` as its momentum, if it has one. */
  remember(replica: number, from: Rows): void;
  /** What a checkpoint must hold of a replica besides its parameters. */
  privateRows(replica: number): PrivateMemory;
  /** Loss and accuracy on a set, of these parameters with this state. */
  score(set: EvaluationSet, params: Float32Array, state: Float32Array | undefined): Promise<Score>;
  close(): Promise<void>;
}

/** Optimizer slots and model state, as they are before the first step. */
function startingRows(step: Step, seed: number): PrivateMemory {
  const slots = step.slots.map((slot) => [slot, new Float32Array(rowSize(step.params))] as const);
  return Object.fromEntries(step.state.length > 0 ? [...slots, ['state', initialise(step.state, seed)]] : slots);
}

/** A row of a replica that a step reads or writes, and what the step calls it. */
interface Port extends PlacedRow {
  readonly port: string;
  readonly written: boolean;
}

/**
 * A program whose private rows take turns; the rest of its memory stays. Rows of replicas are bound in place where the backend
 * can do that, and else copied to and from `memory`. Each part of the memory is cut into tensors once.
 */
async function open(backend: Backend, step: Step, memory: Readonly<Record<string, Numbers>>, own: PrivateRows) {
  const executable = await backend.compile(step.program);
  const outputs = new Set(step.program.outputs.map(({ name }) => name.split('/')[0]!));
  const next = (rows: PrivateMemory) =>
    Object.fromEntries(
      Object.entries(rows).flatMap(([name, row]) => (outputs.has(`${name}'`) ? [[`${name}'`, row]] : [])),
    );
  const [read, written]: [Buffers[], Buffers[]] = [[], []];
  const readPart = (set: number) => (read[set] ??= stepBuffers(step, own.rows(set)));
  const writtenPart = (set: number) => (written[set] ??= stepBuffers(step, next(own.rows(set))));

  const placed = new Map<string, Map<Rows, Buffers[]>>();
  function portPart({ port, rows, row }: Port): Buffers {
    let ofPort = placed.get(port);
    if (ofPort === undefined) placed.set(port, (ofPort = new Map()));
    let parts = ofPort.get(rows);
    if (parts === undefined) ofPort.set(rows, (parts = []));
    return (parts[rows.place(row)] ??= stepBuffers(step, { [port]: rows.view(row) }));
  }

  const rests: { readonly without: readonly Port[]; readonly part: Buffers }[] = [];
  function rest(ports: readonly Port[]): Buffers {
    const isSame = (without: readonly Port[]) =>
      without.length === ports.length && without.every(({ port }, k) => port === ports[k]!.port);
    let known = rests.find(({ without }) => isSame(without));
    if (known === undefined) {
      const taken = new Set([...ports.map(({ port }) => port), ...own.names, ...own.names.map((name) => `${name}'`)]);
      const left = Object.entries(memory).filter(([name]) => !taken.has(name));
      rests.push((known = { without: ports, part: stepBuffers(step, Object.fromEntries(left)) }));
    }
    return known.part;
  }

  /** Everything that can be is bound where it is. */
  function runDirect(place: number, ports: readonly Port[]): ReturnType<BoundRun> {
    const { from, to } = own.turn(place);
    return executable.bind(rest(ports), ...ports.map(portPart), readPart(from), writtenPart(to))();
  }

  const runs = new Map<string, BoundRun>();
  async function runCopied(place: number, ports: readonly Port[]): Promise<void> {
    for (const { port, rows, row, written } of ports) if (!written) rows.read(row, memory[port] as Float32Array);
    const { from, to } = own.turn(place);
    const key = `${from} ${to}`;
    let run = runs.get(key);
    if (run === undefined) runs.set(key, (run = executable.bind(rest([]), readPart(from), writtenPart(to))));
    await run();
    for (const { port, rows, row, written } of ports) if (written) rows.write(row, memory[port] as Float32Array);
  }

  return {
    rows: own,
    run(place: number, ports: readonly Port[]): ReturnType<BoundRun> {
      const whole = ports.every(({ rows }) => rows.memory.shards.length === 1);
      return backend.direct && whole ? runDirect(place, ports) : runCopied(place, ports);
    },
    close: () => executable.close(),
  };
}

/** Whether anything in a program is drawn at random. */
function isRandom({ program }: Step): boolean {
  const key = program.inputs.find(({ name }) => name === 'key')?.value;
  return key !== undefined && program.nodes.some(({ inputs }) => inputs.includes(key));
}

/** Opens the replicas first ≤ i < last. */
export async function openReplicas(
  { seed, batch, model: modelSettings, optimizer: optimizerSettings }: Experiment,
  feed: Feed,
  backend: Backend,
  { first, last }: { readonly first: number; readonly last: number },
  programs: Programs,
): Promise<Replicas> {
  const model = buildModel(modelSettings, feed.task);
  const transform = optimizer(optimizerSettings);
  const stepOf = (size: number) => (programs.adapt ? trainStep(model, size, transform) : gradientStep(model, size));
  const step = stepOf(batch);
  const memory = allocate(step);
  memory.x = feed.batchMemory ?? memory.x;
  const rows = new PrivateRows(startingRows(step, seed), last - first);
  /** A program for each size of batch, all on the same memory: a smaller batch is the beginning of a full one. */
  const openSize = async (size: number) => {
    const x = memory.x.subarray(0, (memory.x.length / batch) * size);
    const labels = memory.labels.subarray(0, (memory.labels.length / batch) * size);
    return { labels, ...(await open(backend, stepOf(size), { ...memory, x, labels }, rows)) };
  };
  const sizes = feed.batchSizes(first, last);
  const steppers = new Map(await Promise.all(sizes.map(async (size) => [size, await openSize(size)] as const)));
  let stepper = steppers.get(batch)!;

  const optimizers = await openOptimizers(backend, step, transform, seed, programs.common ? 1 : last - first, programs);
  const place = (replica: number) => replica - first;
  const slotPlace = (replica: number) => (programs.common ? 0 : place(replica));

  const { temperature } = programs;
  const distiller =
    temperature === undefined ? undefined : await openDistiller(backend, model, sizes, { temperature, seed });
  const evolve = programs.evolve ? evolver(feed, batch, step.params) : undefined;
  const tester = await openTest(backend, evalStep(model, feed.evaluationBatch), seed, model.sequential === true);
  const startState = initialise(step.state, seed);
  const key = memory.key as unknown as Int32Array;

  const random = isRandom(step);
  const outcome = (): Outcome => {
    // Numbers have no accuracy.
    const correct = memory.correct?.[0] ?? Number.NaN;
    const [loss, norm2] = [memory.loss![0]!, memory.gradientNorm2![0]!];
    return { loss, accuracy: correct / stepper.labels.length, gradientNorm: Math.sqrt(norm2) };
  };

  function run(replica: number, at: number, ports: readonly Port[]): Later<Outcome> {
    if (random) {
      const numbers = new Random(seed, 'dropout', replica, at);
      key[0] = numbers.uint32();
      key[1] = numbers.uint32();
    }
    const running = stepper.run(place(replica), ports);
    return running === undefined ? outcome() : running.then(outcome);
  }

  function load(replica: number, at: number): void {
    const { size, begins } = feed.train(replica, at, memory.x, memory.labels);
    stepper = steppers.get(size)!;
    // Text starts again: what was carried over from its end does not belong there.
    if (begins && model.sequential) rows.of(place(replica)).state!.set(startState);
  }

  const gradient: Replicas['gradient'] = (replica, at, from, to) =>
    run(replica, at, [
      { port: 'params', rows: from, row: replica, written: false },
      { port: 'gradient', rows: to, row: replica, written: true },
    ]);
  const stateOf = (replica: number) => rows.of(place(replica)).state;
  const privateRows = (replica: number): PrivateMemory => ({
    ...optimizers.slots?.of(slotPlace(replica)),
    ...rows.of(place(replica)),
  });
  const optimizerPorts = (replica: number, params: Rows, gradient: PlacedRow): readonly Port[] => [
    { port: 'params', rows: params, row: replica, written: false },
    { port: 'gradient', ...gradient, written: false },
  ];
  const optimize =
    (result: 'params' | 'direction'): OptimizerPass =>
    (replica, at, learningRate, params, gradient) =>
      optimizers.run(result, slotPlace(replica), at, learningRate, optimizerPorts(replica, params, gradient));
  /** What the last gradient of each replica started from, if it may be asked for again. */
  const statesBefore = new Map<number, Float32Array>();

  return {
    layout: step.params,
    load,
    adapt(replica, at, learningRate, from, to, row = replica) {
      memory.learningRate![0] = learningRate;
      memory.step![0] = at;
      return run(replica, at, [
        { port: 'params', rows: from, row, written: false },
        { port: "params'", rows: to, row: replica, written: true },
      ]);
    },
    gradient(replica, at, from, to) {
      const state = stateOf(replica);
      if (programs.again && state !== undefined) statesBefore.set(replica, state.slice());
      return gradient(replica, at, from, to);
    },
    async gradientAgain(replica, at, from, to) {
      const after = stateOf(replica)?.slice();
      stateOf(replica)?.set(statesBefore.get(replica)!);
      load(replica, at);
      const outcome = await gradient(replica, at, from, to);
      if (after !== undefined) stateOf(replica)!.set(after);
      return outcome;
    },
    async distil(replica, at, from, teacher, to) {
      const state = stateOf(replica)?.slice();
      load(replica, at);
      const labels = stepper.labels as Int32Array;
      const x = memory.x.subarray(0, (memory.x.length / memory.labels.length) * labels.length);
      const size = (batch * labels.length) / memory.labels.length;
      const [own, known] = [copyOf(from, replica), copyOf(teacher, replica)];
      to.write(replica, await distiller!.gradient(size, replica, at, { x, labels, state }, own, known));
      if (state !== undefined) stateOf(replica)!.set(state);
    },
    async evolve(replica, at, learningRate, taus, heard, from, to) {
      const { row, ...outcome } = evolve!(heard, at, copyOf(from, replica), learningRate, taus);
      to.write(replica, row);
      return outcome;
    },
    update: optimize('params'),
    async updateRow(replica, at, learningRate, params, gradient, to) {
      const ports = optimizerPorts(replica, params, { rows: gradient, row: replica });
      const next = { port: "params'", rows: to, row: replica, written: true };
      await optimizers.run('params', slotPlace(replica), at, learningRate, [...ports, next]);
    },
    direction: optimize('direction'),
    remember(replica, from) {
      const { momentum } = privateRows(replica);
      if (momentum !== undefined) from.read(replica, momentum);
    },
    privateRows,
    score: tester.score,
    async close() {
      await Promise.all([...steppers.values(), optimizers, tester, distiller].map((opened) => opened?.close()));
    },
  };
}

/** The optimizer's programs, on one set of slots for each place. */
async function openOptimizers(
  backend: Backend,
  step: Step,
  transform: Transform,
  seed: number,
  places: number,
  { adapt, update, direction }: Programs,
) {
  let slots: PrivateRows | undefined;
  const openOne = async (result: 'params' | 'direction') => {
    const program = updateStep(step, transform, result);
    slots ??= new PrivateRows(startingRows(program, seed), places);
    const memory = allocate(program) as Record<string, Float32Array>;
    return { memory, ...(await open(backend, program, memory, slots)) };
  };
  const opened = {
    params: update && !adapt ? await openOne('params') : undefined,
    direction: direction && !adapt ? await openOne('direction') : undefined,
  };
  return {
    slots,
    /** The result, unless a port takes it. */
    run(
      result: 'params' | 'direction',
      place: number,
      at: number,
      learningRate: number,
      ports: readonly Port[],
    ): Later<Float32Array> {
      const { memory, run } = opened[result]!;
      memory.learningRate![0] = learningRate;
      memory.step![0] = at;
      const running = run(place, ports);
      const next = memory[result === 'params' ? "params'" : 'direction']!;
      return running === undefined ? next : running.then(() => next);
    },
    close: () => Promise.all(Object.values(opened).map((each) => each?.close())),
  };
}

/** Goes through a set with one model at a time. */
async function openTest(backend: Backend, step: Step, seed: number, sequential: boolean) {
  const executable = await backend.compile(step.program);
  const memory = allocate(step);
  const run = executable.bind(stepBuffers(step, memory));
  const startState = initialise(step.state, seed);
  return {
    async score(set: EvaluationSet, params: Float32Array, state: Float32Array = startState): Promise<Score> {
      memory.params!.set(params);
      memory.state?.set(sequential ? startState : state);
      let [loss, correct, counted] = [0, 0, 0];
      for (let index = 0; counted < set.labels; index++) {
        const count = set.fill(index, memory.x, memory.labels);
        await run();
        for (let i = 0; i < count; i++) {
          loss += memory.losses![i]!;
          correct += memory.correct?.[i] ?? Number.NaN;
        }
        counted += count;
        if (memory["state'"] !== undefined) memory.state!.set(memory["state'"]);
      }
      return { loss: loss / counted, accuracy: correct / counted };
    },
    close: () => executable.close(),
  };
}
