import { extname } from 'node:path';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import type { AlgorithmSettings } from '../algorithm/choose.ts';
import { compressorSchema } from '../algorithm/compressors.ts';
import { planFacts } from '../algorithm/facts.ts';
import { type Plan, planOf } from '../algorithm/method.ts';
import { methodFrom, type OwnMethod } from '../algorithm/own.ts';
import { requireSha256, sha256Of } from '../base/content.ts';
import { UserError } from '../base/error.ts';
import { readBytes } from '../base/file.ts';
import { startThread } from '../base/thread.ts';
import type { Round } from '../topology/kind.ts';

/**
 * Modules that an experiment or an option names. They run with the user's rights, once, when the experiment is read; what they
 * give is plain data that is stored with the run, so that workers, ranks, resumed runs and reports run nothing of them.
 */

/** What a module is asked. */
export interface Question {
  readonly as: 'method' | 'topology';
  readonly text: string;
  readonly typescript: boolean;
  readonly settings: Readonly<Record<string, unknown>>;
  /** Of a topology. */
  readonly n?: number;
  readonly seed?: number;
}

/** Its settings with their defaults, and what it exports under them; or what is wrong with it. */
export type ModuleAnswer =
  | { readonly problem: string }
  | { readonly settings: object; readonly method: OwnMethod }
  | { readonly settings: object; readonly rounds: readonly Round[] };

const startMs = 60_000;
/** A module only says what is to be done: it has this long. */
const patienceMs = 5000;

/** Asks a module in a thread of its own, and waits for it: a module that does not end is left behind. */
function ask(question: Question): ModuleAnswer {
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const { port1, port2 } = new MessageChannel();
  const workerData = { question, flag, port: port2 };
  const thread = startThread('./thread', import.meta.url, { workerData, transferList: [port2], stdout: true });
  // What it prints is no result, and what it does after its answer is of no interest.
  thread.stdout.on('data', (text) => process.stderr.write(text));
  thread.on('error', () => {}).unref();
  try {
    if (Atomics.wait(flag, 0, 0, startMs) === 'timed-out') throw new Error('the thread for modules did not start');
    Atomics.wait(flag, 0, 1, patienceMs);
    const answer = receiveMessageOnPort(port1)?.message as ModuleAnswer | undefined;
    return answer ?? { problem: `it gives no answer within ${patienceMs / 1000} seconds, and was ended` };
  } finally {
    port1.close();
    void thread.terminate();
  }
}

const extensions = ['.ts', '.mts', '.js', '.mjs'];

/** The same question again has the same answer: variants and points of a sweep share a module. */
const known = new Map<string, ModuleAnswer>();

interface Named {
  readonly path: string;
  readonly sha256?: string | undefined;
}

function answerOf({ path, sha256 }: Named, rest: Omit<Question, 'text' | 'typescript'>) {
  const extension = extname(path);
  const content = readBytes(path, 'module');
  const found = sha256Of(content);
  requireSha256(path, found, sha256);
  if (!extensions.includes(extension))
    throw new UserError(
      `the module ${path} must be TypeScript or JavaScript: its name must end in ${extensions.join(', ')}`,
    );
  const key = JSON.stringify([found, extension, rest]);
  const answer = known.get(key) ?? ask({ ...rest, text: content.toString(), typescript: /ts$/.test(extension) });
  known.set(key, answer);
  if ('problem' in answer) throw new UserError(`the module ${path}: ${answer.problem}`);
  return { sha256: found, ...answer };
}

type Settings = { readonly kind: string; readonly [setting: string]: unknown };

/** Its formulas, read; a mistake in them names the module. */
function planIn(path: string, method: OwnMethod): Plan {
  try {
    return planOf(methodFrom(method));
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new UserError(`the module ${path}: ${error.message}`, { cause: error });
  }
}

/** The algorithm with the method that its module exports, if it names one. */
export function withMethod<T extends AlgorithmSettings>(algorithm: T): T {
  if (algorithm.kind !== 'module') return algorithm;
  const { kind, path, sha256, compressor, method: _, ...settings } = algorithm as unknown as Settings & Named;
  const given = answerOf({ path, sha256 }, { as: 'method', settings }) as {
    sha256: string;
    settings: object;
    method: OwnMethod;
  };
  const { compresses } = planFacts(planIn(path, given.method));
  if (!compresses && compressor !== undefined)
    throw new UserError(`algorithm.compressor: the module ${path} sends no compressed message; leave it out`);
  const compressing = compresses ? { compressor: compressor ?? compressorSchema.parse({ kind: 'top-k' }) } : {};
  return { kind, path, sha256: given.sha256, ...given.settings, ...compressing, method: given.method } as unknown as T;
}

/** The topology, or each of its phases, with the rounds that its module gives for n replicas. */
export function withRounds<T extends Settings>(topology: T, n: number, seed: number): T {
  const { phases } = topology as unknown as { readonly phases?: readonly { readonly topology: Settings }[] };
  if (phases !== undefined)
    return {
      ...topology,
      phases: phases.map((phase) => ({ ...phase, topology: withRounds(phase.topology, n, seed) })),
    };
  if (topology.kind !== 'module') return topology;
  const { kind, path, sha256, weights, rounds: _, ...settings } = topology as unknown as Settings & Named;
  const given = answerOf({ path, sha256 }, { as: 'topology', settings, n, seed }) as {
    sha256: string;
    settings: object;
    rounds: readonly Round[];
  };
  return {
    kind,
    path,
    sha256: given.sha256,
    ...given.settings,
    rounds: given.rounds,
    ...(weights !== undefined && { weights }),
  } as unknown as T;
}
