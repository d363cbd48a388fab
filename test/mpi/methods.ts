import { join } from 'node:path';
import { stepOf } from '../../src/algorithm/actions.ts';
import { factsOf } from '../../src/algorithm/facts.ts';
import { methods } from '../../src/algorithm/methods.ts';
import { matrixNames } from '../../src/algorithm/places.ts';
import { jacobianBytes, trafficOf } from '../../src/algorithm/traffic.ts';
import { chooseBackend, openBackend } from '../../src/backends.ts';
import { checkpointsIn, rewindCheckpoints } from '../../src/engine/checkpoint.ts';
import { planOfRun } from '../../src/engine/edges.ts';
import { feedOf } from '../../src/engine/feed.ts';
import { type Checkpoints, loop } from '../../src/engine/loop.ts';
import { prepare } from '../../src/engine/prepare.ts';
import { resolve } from '../../src/experiment/experiment.ts';
import { openWorld } from '../../src/transport/choose.ts';
import { shareTransport } from '../../src/transport/shared.ts';
import { openTransport } from '../../src/transport/threads.ts';
import { small } from '../engine/runs.ts';

/**
 * Every method, in one set of processes: run by ranks under mpirun, or alone. Rank 0 prints the bits of each; with a folder also those of
 * some methods that are resumed there, and with three ranks what three replicas sent, by count and on the wire.
 */
const [folder] = process.argv.slice(2);
const world = await openWorld('auto', { timeoutSeconds: 60 });
const backend = await openBackend(await chooseBackend());

const common = {
  ...small,
  data: { ...small.data, test: 40 },
  optimizer: { kind: 'sgd' },
  learningRate: { base: 0.005 },
  evaluation: { everyEpochs: 2, merged: false },
  probes: { distance: false, norms: false },
  checkpoints: { keep: 9 },
  epochs: 2,
};

/** Where learning follows time. */
const timed = { network: 'lan', devices: { compute: '2ms', noise: { kind: 'exponential', mean: 0.5 } } };
const timeOf = (name: string) => (factsOf({ kind: name } as never).asynchronous ? timed : {});

/** Short periods, so that what happens now and then happens here. */
const algorithmOf = (name: string) =>
  'period' in methods.find((method) => method.name === name)!.settings ? { kind: name, period: 2 } : { kind: name };

/**
 * Bits in the end, and for each step what was counted as sent, of rows and messages, and what this rank gave to the others. Numbers of
 * replicas are gathered as everything is that is measured, so they are left out.
 */
async function outcomeOf(settings: object, checkpoints?: Checkpoints) {
  const [experiment] = resolve({ ...common, ...settings }, 'test');
  const { dataset, shares, columns, messageBytes } = await prepare(experiment!, { place: world.place });
  const { plan, edges } = planOfRun(experiment!);
  const feed = feedOf(experiment!, dataset, shares);
  const matrices = matrixNames(plan);
  const shared = shareTransport(1, experiment!.replicas, columns, { place: world.place, matrices, messageBytes });
  const transport = await openTransport(shared, 0);
  const [counted, wire]: [number[], number[]] = [[], []];
  const degree = edges?.degree ?? 4 / 3;
  const numberBytes = (t: number, branch: number | null) => {
    const sizes = { replicas: 3, degree, columns: 0, compressedBytes: 0, answers: { samples: 0, classes: 0 } };
    const step = stepOf(plan, {
      t,
      steps: feed.stepsPerEpoch * experiment!.epochs,
      eta: 1,
      etaBefore: 1,
      branch: branch ?? undefined,
    });
    // Jacobians are counted, but every rank has the samples to make them.
    const answers = { samples: common.batch, classes: common.data.classes };
    const jacobians = step.actions.filter((action) => action.do === 'evolve').length;
    return trafficOf(plan, step, sizes).bytes + jacobians * degree * jacobianBytes({ columns, answers });
  };
  let sha = '';
  for await (const event of loop(experiment!, feed, transport, backend, checkpoints)) {
    if (event.type === 'step') {
      counted.push(event.sentBytes - numberBytes(event.step, event.branch));
      wire.push(transport.sentBytes);
    }
    if (event.type === 'end') sha = event.paramsSha256;
  }
  transport.close();
  return { sha, counted, wire: wire.map((bytes, step) => bytes - (wire[step - 1] ?? 0)) };
}

const found: Record<string, { sha: string; resumed?: string; counted?: number[]; wire?: number[] }> = {};
for (const { name } of methods) {
  const algorithm = algorithmOf(name);
  // Seven replicas: blocks of different sizes, neighbours inside and outside.
  const ring = { replicas: 7, algorithm, ...timeOf(name), data: { ...common.data, train: 7 * 8 * 3 } };
  const { sha } = await outcomeOf(ring);
  found[name] = { sha };
  if (
    folder !== undefined &&
    ['choco', 'beer', 'lead', 'quantized-push-sum', 'dsgt', 'slowmo', 'dispfl', 'ad-psgd', 'tether'].includes(name)
  ) {
    const checkpoints = join(folder, name);
    await outcomeOf(ring, { folder: checkpoints, from: undefined });
    const from = checkpointsIn(checkpoints)[0]!;
    await world.share(undefined);
    if (world.rank === 0) rewindCheckpoints(checkpoints, from);
    await world.share(undefined);
    found[name].resumed = (await outcomeOf(ring, { folder: checkpoints, from })).sha;
  }
  if (world.size !== 3) continue;
  // One replica on each rank, so that all it sends crosses the wire; a star, whose W is no mean and whose degrees differ.
  const star = {
    replicas: 3,
    topology: { kind: 'star' },
    // Rounded numbers are counted as they would go between devices; between ranks they go whole.
    algorithm: name === 'leash' ? { ...algorithm, bits: 32 } : algorithm,
    ...timeOf(name),
    data: { ...common.data, train: 3 * 8 * 2 },
  };
  const { counted, wire } = await outcomeOf(star);
  const all = await world.gather(wire);
  found[name].counted = counted.map((bytes) => Math.round(3 * bytes));
  found[name].wire = wire.map((_, step) => all.reduce((sum, each) => sum + each[step]!, 0));
}
if (world.rank === 0) console.log(JSON.stringify(found));
await world.close();
