import { factsOf } from '../algorithm/facts.ts';
import type { Experiment } from '../experiment/schema.ts';
import { learningRate } from '../optim/schedule.ts';
import { topologyAt } from '../topology/schedule.ts';
import { meanDegree } from '../topology/summary.ts';
import { buildTopology, type Topology } from '../topology/topology.ts';

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
export function planner(experiment: Experiment, stepsPerEpoch: number): (epoch: number) => EpochPlan {
  const { replicas, epochs, seed, batch } = experiment;
  const { usesTopology } = factsOf(experiment.algorithm);
  let known: { key: string; topology: Topology; degree: number } | undefined;
  return (epoch) => {
    const config = usesTopology ? topologyAt(experiment.topology, replicas, epoch, epochs) : { kind: 'complete' };
    const key = JSON.stringify(config);
    if (known?.key !== key) {
      const topology = buildTopology(config, replicas, seed);
      const degree = meanDegree(topology);
      known = { key, topology, degree };
    }
    const current = known;
    const rate = learningRate(experiment.learningRate, { batch, replicas, degree: current.degree, epochs });
    return {
      epoch,
      stepsPerEpoch,
      steps: epochs * stepsPerEpoch,
      topology: current.topology,
      degree: current.degree,
      // The middle of the step: a warm-up from 0 then neither wastes its first step nor overshoots in its last.
      learningRate: (step) => rate((step + 0.5) / stepsPerEpoch),
    };
  };
}
