/** The public API: what the commands do, for programs. */
export { UserError } from './base/error.ts';
export type { Event } from './engine/event.ts';
export { loadExperiment, resolve } from './experiment/experiment.ts';
export type { Experiment } from './experiment/schema.ts';
export { type Progress, type RunOptions, resume, run } from './run.ts';
export { findRun, listRuns, type Run } from './store/runs.ts';
export { type RunSummary, summarizeRun } from './store/summary.ts';
export { summarize, type TopologySummary } from './topology/summary.ts';
export { buildTopology, type Topology } from './topology/topology.ts';
export { openWorld } from './transport/choose.ts';
export type { World } from './transport/world.ts';
