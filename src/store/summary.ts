import { dispersion, mean } from '../base/statistics.ts';
import { openDatabase } from './database.ts';
import { type Run, readResult, type Status, statusOf } from './runs.ts';

/** A run at a glance, computed from its events. */
export interface RunSummary {
  readonly id: string;
  readonly name: string;
  readonly status: Status;
  readonly reason: string | null;
  readonly replicas: number;
  readonly steps: number;
  /** Neighbours per replica, mean over the steps. */
  readonly connections: number | null;
  /** On the test set, of the local models at the last evaluation. */
  readonly accuracy: { readonly mean: number; readonly min: number; readonly max: number } | null;
  readonly loss: number | null;
  /** Of the average of all replicas. */
  readonly mergedAccuracy: number | null;
  readonly mergedLoss: number | null;
  /** Largest Gini coefficient over the steps, of the per-replica norms, mean over the tensors. */
  readonly peakGini: number | null;
  /** Ξ before averaging: the largest and the last. */
  readonly peakDistance: number | null;
  readonly finalDistance: number | null;
  /** By one replica over the whole run, mean over the replicas. */
  readonly sentBytes: number;
  readonly sentMessages: number;
  readonly gossips: number;
  readonly stepMs: number | null;
  /** Share of the step that is forward, backward and update. */
  readonly computeShare: number | null;
  readonly seconds: number | null;
  readonly paramsSha256: string | null;
}

type Cell = number | null;
const numeric = (value: unknown): Cell => (value === null || value === undefined ? null : Number(value));

export async function summarizeRun(run: Run): Promise<RunSummary> {
  const instance = await openDatabase(run.database, true);
  try {
    const connection = await instance.connect();
    const rows = async (sql: string) =>
      (await connection.runAndReadAll(sql)).getRowObjectsJson() as Record<string, unknown>[];
    const [steps] = await rows(`
      select count(*) n, avg(connections) connections, max(distance) peak, arg_max(distance, step) final,
        sum(sent_bytes) bytes, sum(sent_messages) messages, sum(gossips) gossips,
        avg(data_ms + compute_ms + mix_ms + wait_ms + probe_ms) ms, sum(compute_ms) / sum(data_ms + compute_ms + mix_ms + wait_ms + probe_ms) compute_share
      from steps`);
    const [last] = await rows('select * from evaluations order by step desc limit 1');
    const norms = await rows('select step, norm from norms order by step');
    const result = readResult(run);
    const accuracy = (last?.accuracy as number[] | undefined)?.map(Number);
    return {
      id: run.id,
      name: run.experiment.name,
      status: statusOf(run),
      reason: result?.reason ?? null,
      replicas: run.experiment.replicas,
      steps: Number(steps!.n),
      connections: numeric(steps!.connections),
      accuracy: accuracy ? { mean: mean(accuracy), min: Math.min(...accuracy), max: Math.max(...accuracy) } : null,
      loss: last ? mean((last.loss as number[]).map(Number)) : null,
      mergedAccuracy: numeric(last?.merged_accuracy),
      mergedLoss: numeric(last?.merged_loss),
      peakGini: peakGini(norms),
      peakDistance: numeric(steps!.peak),
      finalDistance: numeric(steps!.final),
      sentBytes: Number(steps!.bytes ?? 0),
      sentMessages: Number(steps!.messages ?? 0),
      gossips: Number(steps!.gossips ?? 0),
      stepMs: numeric(steps!.ms),
      computeShare: numeric(steps!.compute_share),
      seconds: result?.seconds ?? null,
      paramsSha256: result?.paramsSha256 ?? null,
    };
  } finally {
    instance.closeSync();
  }
}

function peakGini(rows: readonly Record<string, unknown>[]): number | null {
  const byStep = new Map<number, number[]>();
  for (const { step, norm } of rows) {
    const list = byStep.get(Number(step)) ?? [];
    list.push(dispersion((norm as number[]).map(Number)).gini);
    byStep.set(Number(step), list);
  }
  let peak: number | null = null;
  for (const ginis of byStep.values()) peak = Math.max(peak ?? 0, mean(ginis));
  return peak;
}
