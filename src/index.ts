/** The public API: what the commands do, for programs. */
export { UserError } from './base/error.ts';
export { type Carried, type CarryOutOptions, carryOut, type RunOutcome } from './carry-out.ts';
export type { Event } from './engine/event.ts';
export { loadExperiment, loadPlan, type Planned, resolve } from './experiment/experiment.ts';
export type { Experiment } from './experiment/schema.ts';
export { type RunSummary, summarizeRun } from './metric/summary.ts';
export { buildReport, type ReportOptions } from './report/build.ts';
export { exportTables } from './report/export.ts';
export type { Report } from './report/report.ts';
export { type Progress, type RunOptions, resume, run } from './run.ts';
export { findRun, listRuns, type Run, type Standing, type Status, standing } from './store/runs.ts';
export { type TableFormat, Tables, withTables } from './store/tables.ts';
export { type TidyColumn, tidyTables } from './store/tidy.ts';
export type { Answer } from './store/views.ts';
export { summarize, type TopologySummary } from './topology/summary.ts';
export { buildTopology, type Topology } from './topology/topology.ts';
export { openWorld } from './transport/choose.ts';
export type { World } from './transport/world.ts';
