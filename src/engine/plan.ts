import { trainersOf } from '../algorithm/facts.ts';
import { type Known, topologiesOf } from '../algorithm/topology.ts';
import type { Experiment } from '../experiment/schema.ts';
import { learningRate } from '../optim/schedule.ts';
import { meanDegree } from '../topology/summary.ts';
import type { Topology } from '../topology/topology.ts';

/** What holds for the steps of one epoch. */
export interface EpochPlan {
  readonly epoch: number;
  readonly stepsPerEpoch: number;
  /** Of the whole run. */
  readonly steps: number;
  readonly topology: Topology;
  /** Neighbours per replica, mean. */
  readonly degree: number;
  readonly learningRate: (step: number) => number;
}

/** Plans epochs one after the other; a topology is built anew only when the schedule changes it. */
export function planner(
  experiment: Experiment,
  stepsPerEpoch: number,
  known: Known = {},
): (epoch: number) => EpochPlan {
  const { epochs, batch } = experiment;
  const replicas = trainersOf(experiment);
  const topologies = topologiesOf(experiment, known);
  let current: { readonly topology: Topology; readonly degree: number } | undefined;
  return (epoch) => {
    const topology = topologies(epoch);
    if (current?.topology !== topology) current = { topology, degree: meanDegree(topology) };
    const { degree } = current;
    const rate = learningRate(experiment.learningRate, { batch, replicas, degree, epochs });
    return {
      epoch,
      stepsPerEpoch,
      steps: epochs * stepsPerEpoch,
      topology,
      degree,
      // The middle of the step: a warm-up from 0 then neither wastes its first step nor overshoots in its last.
      learningRate: (step) => rate((step + 0.5) / stepsPerEpoch),
    };
  };
}
