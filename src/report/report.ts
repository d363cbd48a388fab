import type { Dispersion } from '../base/statistics.ts';
import type { Phase } from '../engine/columns.ts';
import type { Experiment } from '../experiment/schema.ts';
import type { Control } from '../metric/control.ts';
import type { Correlation } from '../metric/correlation.ts';
import type { Estimate } from '../metric/estimate.ts';
import type { LinkUse } from '../metric/retime.ts';
import type { RunSummary } from '../metric/summary.ts';
import type { Happening, Segment } from '../network/trace.ts';
import type { MachineContext } from '../store/context.ts';

export type { Correlation, Estimate };

/**
 * What a report says, as plain data computed from stored events: `--json` prints it, the page and the exported figures draw it.
 * Lists of numbers are columns of equal length; null if something was not measured.
 */
export interface Report {
  readonly title: string;
  /** What is missing, still running or thinned out. */
  readonly notes: readonly string[];
  readonly runs: readonly RunReport[];
  /** Runs that differ in nothing but their seed: one implementation at one scale. */
  readonly groups: readonly Group[];
  /** Groups of equal scale that differ in their implementation. */
  readonly comparisons: readonly Comparison[];
  /** Every implementation over the number of replicas; empty with one scale. */
  readonly scaling: readonly Scaling[];
  readonly observations: readonly Observation[];
  /** The same runs on networks that were asked for, or that they were trained on. */
  readonly networks: readonly VirtualReport[];
}

/** Stored runs on a network: their virtual times. Runs that learn by time and were trained on another network have none there. */
export interface VirtualReport {
  readonly name: string;
  /** The time of a step on its devices. */
  readonly compute: string;
  /** One for each run of the report. */
  readonly runs: readonly RetimedRun[];
  /** One for each group. */
  readonly groups: readonly RetimedGroup[];
}

export interface RetimedRun {
  /** At the evaluations: steps done, and virtual seconds. */
  readonly step: readonly number[];
  readonly seconds: readonly number[];
  /** Virtual seconds of the whole run. */
  readonly total: number;
  /** By replica: the share of its time that it does not compute. */
  readonly waiting: readonly number[];
  /** Empty unless it is the first run of its group, with few enough replicas to draw. */
  readonly links: readonly LinkUse[];
  readonly happenings: readonly Happening[];
  readonly path: readonly Segment[];
}

export interface RetimedGroup {
  /** Its learning followed time, on another network: it has no times here. */
  readonly elsewhere: boolean;
  /** Virtual seconds of the whole run. */
  readonly seconds: Estimate | null;
  /** How many times as long a step of plain gossip takes with devices as they are listed; null: they are. */
  readonly asListed: number | null;
  /** At the first evaluation that reaches each target of the comparison; null: never. */
  readonly reached: readonly {
    readonly accuracy: number;
    readonly seconds: Estimate | null;
    readonly sentBytes: Estimate | null;
    readonly steps: Estimate | null;
    readonly runs: number;
  }[];
}

type Column = readonly (number | null)[];

/** A quantity over the replicas. */
export interface Band {
  readonly mean: Column;
  readonly min: Column;
  readonly max: Column;
}

/** Who hears whom in a round, as it is drawn. */
export interface NetworkRound {
  readonly kind: string;
  readonly directed: boolean;
  /** Of a grid. */
  readonly columns: number | null;
  /** After so many rounds it repeats; null: never. */
  readonly period: number | null;
  /** How many edges there are, and those that are drawn: source and replica of one after the other. */
  readonly all: number;
  readonly edges: readonly number[];
}

/** The replicas at one step; null for one that is lost or was not measured. */
export interface ReplicaFrame {
  readonly step: number;
  readonly epoch: number;
  /** Index into rounds. */
  readonly round: number;
  /** On its own batch, before the step. */
  readonly loss: Column;
  readonly accuracy: Column;
  /** At the last evaluation before it. */
  readonly testLoss: Column | null;
  readonly testAccuracy: Column | null;
  /** ‖x_i − x̄‖ before averaging. */
  readonly distance: Column | null;
  /** Virtual time at which each had finished the step, in seconds; null without a network. */
  readonly finished: Column | null;
  /** Steps of its own; null if all step together. */
  readonly ownSteps: Column | null;
  /** norms[tensor][replica] */
  readonly norms: readonly Column[] | null;
  /** ‖x_i − x_j‖ along the edges that are drawn. */
  readonly edges: Column | null;
}

export interface NetworkReport {
  readonly frames: readonly ReplicaFrame[];
  readonly rounds: readonly NetworkRound[];
}

export interface RunReport {
  readonly id: string;
  /** Index into groups. */
  readonly group: number;
  readonly summary: RunSummary;
  readonly experiment: Experiment;
  readonly context: MachineContext;
  readonly tensors: readonly { readonly name: string; readonly shape: string; readonly size: number }[];
  /** At most a few hundred points: of each bucket of steps the mean, with the least and the largest in the band. */
  readonly steps: {
    /** The last step of the bucket, counted from 0. */
    readonly step: readonly number[];
    /** How many steps a point stands for; 1 when nothing was thinned out. */
    readonly stepsPerPoint: number;
    /** Epochs done with that step, in fractions. */
    readonly epoch: readonly number[];
    /** Since the start of the run: of training alone, without evaluation; sent by one replica, mean over the replicas. */
    readonly seconds: readonly number[];
    readonly sentBytes: readonly number[];
    /** Virtual time at which the last replica had finished; null without a network. */
    readonly virtualSeconds: Column;
    readonly loss: Band;
    readonly accuracy: Band;
    readonly learningRate: Column;
    /** Neighbours per replica: k of Ada; under consensus control, times the gossips of each step. */
    readonly connections: Column;
    readonly gossips: Column;
    readonly distance: Column;
    readonly controlledDistance: Column;
    readonly targetDistance: Column;
    /** Of methods that decide by themselves when to average. */
    readonly estimatedDistance: Column;
    readonly threshold: Column;
    readonly harm: Column;
    readonly period: Column;
    /** Milliseconds of one step by what was done. */
    readonly ms: Readonly<Record<Phase, Column>>;
  };
  readonly evaluations: {
    /** Steps done. */
    readonly step: readonly number[];
    readonly epoch: readonly number[];
    readonly seconds: readonly number[];
    readonly sentBytes: readonly number[];
    /** Virtual time at which the local models had finished their last step, mean over them; null without a network. */
    readonly virtualSeconds: Column;
    readonly loss: Band;
    readonly accuracy: Band;
    readonly mergedLoss: Column;
    readonly mergedAccuracy: Column;
    /** On training samples, mean over the local models; null if none were evaluated. */
    readonly trainLoss: Column;
    readonly trainAccuracy: Column;
  };
  /** Of the norms over the replicas: one column for each tensor, and the mean over the tensors. */
  readonly variance: {
    readonly step: readonly number[];
    /** How many probed steps a point stands for; 1 when nothing was thinned out. */
    readonly stepsPerPoint: number;
    readonly tensors: Readonly<Record<keyof Dispersion, readonly Column[]>>;
    readonly mean: Readonly<Record<keyof Dispersion, Column>>;
  };
  /** Replica by replica, at some steps; null if nothing is known of any. */
  readonly network: NetworkReport | null;
  /** Steps of the whole run, done or not; null if that is not known. */
  readonly plannedSteps: number | null;
  /** Step at which the mean Gini is largest, as a share of all steps: the variance peaks early. Of all steps, not of the points. */
  readonly peakGiniAt: number | null;
  readonly peakGini: number | null;
  /** The mean Gini over the last fifth of the steps: the variance fades. */
  readonly lateGini: number | null;
}

export interface Group {
  /** The name of the variant, with those settings that tell it from others of the same name and scale: D_ring. */
  readonly name: string;
  /** The name, with the scale if the report has several: D_ring, n = 64. */
  readonly label: string;
  readonly replicas: number;
  /** Indices into runs. */
  readonly runs: readonly number[];
  readonly seeds: readonly number[];
  /** Runs that came to their end: figures are over these. Without any, over those there are, and the group is not compared. */
  readonly complete: number;
  readonly accuracy: Estimate | null;
  /** Where numbers are predicted: √ of the mean squared error on the test set, of which less is better. */
  readonly error: Estimate | null;
  readonly mergedAccuracy: Estimate | null;
  readonly mergedError: Estimate | null;
  readonly loss: Estimate | null;
  readonly connections: Estimate | null;
  /** Averagings with the neighbours per step. */
  readonly gossips: Estimate | null;
  /** Over all runs; null without consensus control. */
  readonly control: Control | null;
  readonly sentBytes: Estimate | null;
  /** Of training alone, without evaluation. */
  readonly seconds: Estimate | null;
  readonly peakGini: Estimate | null;
  readonly peakGiniAt: Estimate | null;
  readonly lateGini: Estimate | null;
  readonly finalDistance: Estimate | null;
  /** Cost until the local models first reach each target of the comparison on the test set; null: never. */
  readonly reached: readonly {
    /** The target: one of these two. */
    readonly accuracy: number | null;
    readonly error: number | null;
    readonly epochs: Estimate | null;
    readonly sentBytes: Estimate | null;
    readonly seconds: Estimate | null;
    /** Seeds that reached it. */
    readonly runs: number;
  }[];
}

export interface Comparison {
  /** n = 64, and settings if the report has several tasks of that scale. */
  readonly label: string;
  readonly replicas: number;
  /** Indices into groups. */
  readonly groups: readonly number[];
  /** Complete decentralized groups: the points of the correlations. */
  readonly points: readonly number[];
  /** Between the accuracies of every two complete groups. */
  readonly differences: readonly Difference[];
  /** Groups that are ranked: complete ones with norms, centralized ones apart, whose replicas are equal. */
  readonly ranked: readonly number[];
  /** Seeds that all of these have: ranks are taken within each, then averaged. */
  readonly seeds: readonly number[];
  /** Mean rank of each ranked group by Gini, 1 the least: over tensors and steps of an epoch, and over everything. */
  readonly rank: {
    readonly epoch: readonly number[];
    readonly byEpoch: readonly Column[];
    /** The first fifth of the steps, the rest, and all. */
    readonly early: Column;
    readonly late: Column;
    readonly all: Column;
    /** byTensor[group][tensor] */
    readonly byTensor: readonly Column[];
  };
  /** Against the final accuracy, one point per decentralized group (mean over seeds). */
  readonly connectionsAccuracy: Correlation;
  readonly varianceAccuracy: Correlation & { readonly early: Correlation; readonly late: Correlation };
}

/** How much more accurate group `a` is than group `b`, seed by seed over the seeds that both have; null if there is none. */
export interface Difference {
  /** Indices into groups. */
  readonly a: number;
  readonly b: number;
  readonly accuracy: Estimate | null;
  /** Where numbers are predicted. */
  readonly error: Estimate | null;
}

export interface Scaling {
  readonly name: string;
  /** Indices into groups, one per scale. */
  readonly groups: readonly number[];
  readonly replicas: readonly number[];
  readonly accuracy: readonly (Estimate | null)[];
  readonly correlation: Correlation;
}

/** One claim of the paper, held against these runs. */
export interface Observation {
  readonly kind: 'scale' | 'connections' | 'variance' | 'peak' | 'ada';
  readonly claim: string;
  /** When it counts as true. */
  readonly criterion: string;
  /** null: these runs cannot tell. */
  readonly holds: boolean | null;
  /** What a verdict would need; null if there is one. */
  readonly needs: string | null;
  /** The numbers, if there are several scales those of the largest; empty if there are none. */
  readonly finding: string;
  /** The finding at every scale, if there are several. */
  readonly details: readonly string[];
}
