import { dispersion, mean } from '../base/statistics.ts';
import { checkpointsIn } from '../engine/checkpoint.ts';
import { query } from './database.ts';
import { type Run, readResult, type Status, statusOf } from './runs.ts';

/** A run at a glance, computed from its events; null where something is not known, or not yet. */
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
  readonly sentBytes: number | null;
  readonly sentMessages: number | null;
  readonly gossips: number | null;
  readonly stepMs: number | null;
  /** Share of the step that is forward, backward and update. */
  readonly computeShare: number | null;
  readonly seconds: number | null;
  readonly paramsSha256: string | null;
}

const numeric = (value: unknown): number | null => (value === null || value === undefined ? null : Number(value));

/** What is known without the events: all there is while another process is writing them. */
export function outlineRun(run: Run): RunSummary {
  const status = statusOf(run);
  // Of a run that goes on, what it ended with before no longer holds.
  const result = status === 'running' || status === 'interrupted' ? undefined : readResult(run);
  return {
    id: run.id,
    name: run.experiment.name,
    status,
    reason: result?.reason ?? null,
    replicas: run.experiment.replicas,
    steps: result?.step ?? checkpointsIn(run.checkpoints).at(-1) ?? 0,
    connections: null,
    accuracy: null,
    loss: null,
    mergedAccuracy: null,
    mergedLoss: null,
    peakGini: null,
    peakDistance: null,
    finalDistance: null,
    sentBytes: null,
    sentMessages: null,
    gossips: null,
    stepMs: null,
    computeShare: null,
    seconds: result?.seconds ?? null,
    paramsSha256: result?.paramsSha256 ?? null,
  };
}

export async function summarizeRun(run: Run): Promise<RunSummary> {
  const outline = outlineRun(run);
  const figures = await query(run.database, async (rows): Promise<Partial<RunSummary>> => {
    const [steps] = await rows(`
      select count(*) n, avg(connections) connections, max(distance) peak, arg_max(distance, step) final,
        sum(sent_bytes) bytes, sum(sent_messages) messages, sum(gossips) gossips,
        avg(data_ms + compute_ms + mix_ms + wait_ms + probe_ms) ms, sum(compute_ms) / sum(data_ms + compute_ms + mix_ms + wait_ms + probe_ms) compute_share
      from steps`);
    const [last] = await rows('select * from evaluations order by step desc limit 1');
    const norms = await rows('select step, norm from norms order by step');
    const accuracy = (last?.accuracy as number[] | undefined)?.map(Number);
    return {
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
    };
  });
  return { ...outline, ...figures };
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
