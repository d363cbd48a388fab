import type { BackendName } from '../backends.ts';
import { openBackend } from '../backends.ts';
import { Random } from '../base/random.ts';
import { sizeOf } from '../base/shape.ts';
import { quantile } from '../base/statistics.ts';
import type { Task } from '../model/context.ts';
import { flopsOf } from '../model/flops.ts';
import { initialise, type Layout, rowSize } from '../model/layout.ts';
import { buildModel, type ModelSettings } from '../model/models.ts';
import { allocate, stepBuffers, trainStep } from '../model/step.ts';
import { type OptimizerSettings, optimizer } from '../optim/optimizer.ts';
import type { BoundRun } from '../tensor/backend.ts';
import { matmul } from '../tensor/operations.ts';
import { f32 } from '../tensor/program.ts';
import { trace } from '../tensor/trace.ts';

export interface StepCase {
  readonly model: ModelSettings;
  readonly task: Task;
  readonly optimizer: OptimizerSettings;
  readonly batch: number;
  readonly threads: number;
  readonly backend: BackendName;
}

/** A train step on made-up data, ready to be timed. */
export async function prepareStep(given: StepCase) {
  const backend = await openBackend(given.backend);
  const before = process.memoryUsage().rss;
  const start = performance.now();
  const step = trainStep(buildModel(given.model, given.task), given.batch, optimizer(given.optimizer));
  const executable = await backend.compile(step.program, { threads: given.threads });
  const sessionMs = performance.now() - start;
  const memory = allocate(step);
  memory.params!.set(repeated(step.params));
  memory.state?.set(repeated(step.state));
  memory.learningRate![0] = 1e-3;
  const random = new Random(1, 'synthetic');
  const words = memory.x instanceof Int32Array;
  memory.x.set(Array.from(memory.x, () => (words ? random.below(given.task.classes) : 2 * random.uniform() - 1)));
  memory.labels.set(Array.from(memory.labels, () => random.below(given.task.classes)));
  const run = executable.bind(stepBuffers(step, memory));
  // The first run reserves memory, the second shows how much stays in use.
  await run();
  await run();
  return {
    parameters: rowSize(step.params),
    labels: sizeOf(step.batch.labels.shape),
    flopsPerStep: flopsOf(step.program),
    /** From the model's settings to a session that can run. */
    sessionMs,
    /** What the step added to this process at its height. */
    memoryBytes: process.resourceUsage().maxRSS * 1024 - before,
    run,
    close: () => executable.close(),
  };
}

/** Initial values, of each tensor only so many drawn and then repeated: drawing all of a large model takes long. */
function repeated(layout: Layout, drawn = 4096): Float32Array {
  const short = layout.map((tensor) => ({ ...tensor, size: Math.min(tensor.size, drawn) }));
  let used = 0;
  const placed = short.map((tensor) => ({ ...tensor, offset: (used += tensor.size) - tensor.size }));
  const values = initialise(placed, 1);
  const row = new Float32Array(rowSize(layout));
  layout.forEach(({ offset, size }, i) => {
    const own = placed[i]!;
    for (let at = 0; at < size; at += own.size)
      row.set(values.subarray(own.offset, own.offset + Math.min(own.size, size - at)), offset + at);
  });
  return row;
}

/** A product of two square matrices: what this machine's floating-point units can do through the same backend. */
async function preparePeak({ backend, threads }: StepCase, side = 1024) {
  const program = trace((t) => ({ y: matmul(t.input('a', f32(side, side)), t.input('b', f32(side, side))) }));
  const executable = await (await openBackend(backend)).compile(program, { threads });
  const random = new Random(1, 'synthetic');
  const matrix = () => Float32Array.from({ length: side * side }, () => random.uniform());
  const run = executable.bind({ a: matrix(), b: matrix(), y: new Float32Array(side * side) });
  return { flops: 2 * side ** 3, run, close: () => executable.close() };
}

/** Milliseconds of each of several runs. */
export async function timed(run: BoundRun, atLeastMs: number, atLeastRuns = 3): Promise<number[]> {
  const times: number[] = [];
  for (let total = 0; total < atLeastMs || times.length < atLeastRuns; ) {
    const start = performance.now();
    await run();
    const ms = performance.now() - start;
    times.push(ms);
    total += ms;
  }
  return times;
}

export interface StepBench {
  readonly parameters: number;
  readonly sessionMs: number;
  readonly memoryBytes: number;
  /** Median. */
  readonly stepMs: number;
  readonly runs: number;
  readonly samplesPerSecond: number;
  /** Labels: for a text, more than its samples. */
  readonly labelsPerSecond: number;
  readonly flopsPerStep: number;
  readonly gflops: number;
  /** Of the best product of two 1024×1024 matrices, measured between the steps. */
  readonly peakGflops: number;
  readonly shareOfPeak: number;
}

/** Times a train step, and between its runs what this machine's matrix product reaches. */
export async function benchStep(given: StepCase, seconds: number): Promise<StepBench> {
  const step = await prepareStep(given);
  const peak = await preparePeak(given);
  const [stepTimes, peakTimes]: [number[], number[]] = [[], []];
  const rounds = 5;
  for (let round = 0; round < rounds; round++) {
    peakTimes.push(...(await timed(peak.run, (200 * seconds) / rounds)));
    stepTimes.push(...(await timed(step.run, (800 * seconds) / rounds, 1)));
  }
  await peak.close();
  await step.close();
  const stepMs = quantile(stepTimes, 0.5);
  const gflops = step.flopsPerStep / stepMs / 1e6;
  const peakGflops = peak.flops / Math.min(...peakTimes) / 1e6;
  return {
    parameters: step.parameters,
    sessionMs: step.sessionMs,
    memoryBytes: step.memoryBytes,
    stepMs,
    runs: stepTimes.length,
    samplesPerSecond: (1000 * given.batch) / stepMs,
    labelsPerSecond: (1000 * step.labels) / stepMs,
    flopsPerStep: step.flopsPerStep,
    gflops,
    peakGflops,
    shareOfPeak: gflops / peakGflops,
  };
}
