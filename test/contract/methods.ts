import { cohortFor } from '../../src/algorithm/cohort.ts';
import type { Matrix, Problem } from '../../src/algorithm/reference.ts';
import type { Mixing } from '../../src/topology/mixing.ts';
import { adam, binaryTree, compressors, gradient, heavyBall, matrix, momentum, pairs, ringEdges } from './oracle.ts';

/**
 * What separately written programs found on the problem of oracle.ts: ‖mean − x*‖ and Ξ after 10, 100 and 1000 steps, and the first
 * three parameters of replica 0 after 10.
 */
export interface Row {
  readonly title: string;
  readonly method: string;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly problem?: () => Partial<Problem>;
  readonly figures: readonly (number | null)[];
  readonly x0: readonly number[];
  /** How far float32 may be off after 10, 100 and 1000 steps, if it is more than usual. */
  readonly float32?: readonly [number, number, number];
}

const decay = (t: number) => 0.05 / (1 + t / 100);
const top2 = () => ({ compress: compressors.top2 });

/** Five clients and three servers, who each keep half of their own. */
function fiveOfThree(): Partial<Problem> {
  const algorithm = {
    kind: 'parallel-servers',
    servers: 3,
    gamma: 0.5,
    scheduler: { kind: 'round-robin' },
    carry: true,
  };
  const cohort = cohortFor(algorithm as never, 8, { seed: 1 })!;
  const matrixOf = ({ n, start, source, weight }: Mixing) => {
    const rows = Array.from({ length: n }, () => new Array<number>(n).fill(0));
    for (let i = 0; i < n; i++) for (let e = start[i]!; e < start[i + 1]!; e++) rows[i]![source[e]!] = weight[e]!;
    return rows;
  };
  const among = matrix((i, j) => (i === j ? (i < 5 ? 1 : 0.5) : i > 4 && j > 4 ? 0.25 : 0));
  const known = new Map<string, Matrix>();
  return {
    weights: () => among,
    trains: (i, t) => cohort.trains(i, t),
    between(by, t) {
      const key = `${by} ${t % 3}`;
      known.set(key, known.get(key) ?? matrixOf(cohort.mixing(by, t)));
      return known.get(key)!;
    },
  };
}

export const rows: readonly Row[] = [
  {
    title: 'parallel servers',
    method: 'parallel-servers',
    settings: { servers: 3, gamma: 0.5 },
    problem: fiveOfThree,
    figures: [0.151285166, 0.005869104, 0.169024144, 0.005752988, 0.176126335, 0.005749386],
    x0: [-0.074279923, 0.029325655, 0.009456481],
  },
  {
    title: 'centralized',
    method: 'centralized',
    figures: [0.113157195, 0, 1.74002541e-4, 0, 0, 0],
    x0: [-0.074563241, 0.004495672, 0.017111185],
  },
  {
    title: 'dpsgd atc',
    method: 'dpsgd',
    figures: [0.113959306, 0.079806464, 0.0051017, 0.083522595, 0.005030166, 0.08352128],
    x0: [-0.06820831, 0.051252035, 0.007139036],
  },
  {
    title: 'dpsgd cta',
    method: 'dpsgd',
    settings: { order: 'combine-then-adapt' },
    figures: [0.113959306, 0.108425829, 0.0051017, 0.112446425, 0.005030166, 0.112444599],
    x0: [-0.084654245, 0.075347908, 0.019330307],
  },
  {
    title: 'dpsgd awc',
    method: 'dpsgd',
    settings: { order: 'adapt-while-communicating' },
    figures: [0.115522367, 0.102750661, 0.00978206, 0.105798559, 0.009691035, 0.105796916],
    x0: [-0.083646666, 0.070748361, 0.020042304],
  },
  {
    title: 'atc momentum .9',
    method: 'dpsgd',
    problem: () => ({ direction: momentum(0.9) }),
    figures: [0.11349238, 0.314470369, 0.016180637, 0.306042675, 0.016184606, 0.306027937],
    x0: [-0.185537686, 0.185265434, -0.001784832],
  },
  {
    title: 'atc nesterov .9',
    method: 'dpsgd',
    problem: () => ({ direction: momentum(0.9, true) }),
    figures: [0.081134141, 0.303340685, 0.016188216, 0.306022124, 0.016184606, 0.306027937],
    x0: [-0.166322992, 0.174994809, -0.007443027],
  },
  {
    title: 'decentlam .9',
    method: 'decentlam',
    figures: [0.115460259, 0.054208545, 0.005314639, 0.083661404, 0.005030166, 0.08352128],
    x0: [-0.222003798, 0.044462542, 0.044428625],
  },
  {
    title: 'qg-dsgdm',
    method: 'qg-dsgdm',
    figures: [0.07178136, 0.093577689, 0.0050642, 0.083524981, 0.005030166, 0.08352128],
    x0: [-0.094860381, 0.061790474, 0.012287085],
  },
  {
    title: 'qg-dsgdm-n',
    method: 'qg-dsgdm',
    settings: { nesterov: true },
    figures: [0.012548395, 0.146472481, 0.007830906, 0.13241396, 0.007888037, 0.132416204],
    x0: [-0.131258322, 0.094381924, 0.013636357],
  },
  {
    title: 'gut .9',
    method: 'gut',
    figures: [0.113394111, 0.011325085, 7.22476839e-4, 0.013721782, 6.35013535e-4, 0.013722595],
    x0: [-0.070047719, 0.00879429, 0.012766746],
  },
  {
    title: 'qg-gutm .9 .06',
    method: 'qg-gutm',
    figures: [0.160403063, 0.062423471, 0.0207904, 0.108319908, 0.004602014, 0.102406345],
    x0: [-0.258784641, 0.034705359, 0.054760668],
  },
  {
    title: 'd-adam',
    method: 'd-adam',
    settings: { tau: 1e-3 },
    figures: [0.169117984, 0.324345583, 0.175043444, 0.245909117, 0.189240682, 0.162410837],
    x0: [0.032711401, 0.184910108, -0.056331756],
  },
  {
    title: 'adam atc (corrected)',
    method: 'dpsgd',
    problem: () => ({ direction: adam(0.9, 0.999, 1e-3) }),
    figures: [0.224831673, 0.08787636, 0.228932188, 0.098952866, 0.231677227, 0.106550455],
    x0: [0.011220016, 0.087283791, -0.011611415],
  },
  {
    title: 'cd-adam top2',
    method: 'cd-adam',
    settings: { tau: 1e-3 },
    problem: top2,
    figures: [0.150762201, 0.667884026, 0.097505944, 0.691464128, 0.118047896, 0.520527996],
    x0: [-0.406385667, 0.255244767, 0.194164158],
    // Adam divides by what is nearly 0, and which two numbers are the largest then depends on the last bits.
    float32: [1e-6, 1e-5, 1e-4],
  },
  {
    title: 'dadam .9',
    method: 'dadam',
    settings: { epsilon: 1e-3 },
    figures: [0.163408901, 0.182328398, 0.179277952, 0.159312395, 0.178908278, 0.157835326],
    x0: [-0.109616441, 0.128018152, 0.083457333],
  },
  {
    title: 'damsgrad',
    method: 'damsgrad',
    settings: { epsilon: 1e-3 },
    figures: [0.203648159, 0.124519119, 0.20688515, 0.120517128, 0.206892967, 0.120519009],
    x0: [-0.055839528, 0.092195348, 0.043048971],
  },
  {
    title: 'sgp',
    method: 'sgp',
    figures: [0.113724855, 0.04630275, 0.002797718, 0.046395468, 0.002757024, 0.046394847],
    x0: [-0.062045403, 0.004431975, 0.03007021],
  },
  {
    title: 'qps identity',
    method: 'quantized-push-sum',
    problem: () => ({ compress: compressors.identity }),
    figures: [0.122190424, 0.04623994, 0.002801239, 0.046395515, 0.002757024, 0.046394847],
    x0: [-0.056627155, 0.003712329, 0.028965664],
  },
  {
    title: 'choco top2 .4',
    method: 'choco',
    problem: top2,
    figures: [0.116387304, 0.148874216, 0.015352267, 0.17531624, 0.01526535, 0.175312384],
    x0: [-0.085347102, 0.098862107, 0.0192064],
  },
  {
    title: 'choco sign .4',
    method: 'choco',
    problem: () => ({ compress: compressors.sign }),
    figures: [0.116441026, 0.1497759, 0.015351257, 0.17531574, 0.01526535, 0.175312384],
    x0: [-0.08432396, 0.102419327, 0.015906374],
  },
  {
    title: 'choco mix-first top2 .4',
    method: 'choco',
    settings: { order: 'mix-first' },
    problem: top2,
    figures: [0.117510301, 0.172952587, 0.019399879, 0.197205428, 0.019312585, 0.197200844],
    x0: [-0.096899503, 0.109830476, 0.030320349],
  },
  {
    title: 'd2',
    method: 'd2',
    figures: [0.113273284, 0.0146495, 1.73294418e-4, 2.78044175e-4, 0, 0],
    x0: [-0.078639906, -0.003441617, 0.020834676],
  },
  {
    title: 'exact diffusion',
    method: 'exact-diffusion',
    figures: [0.113708163, 0.001643884, 1.73406422e-4, 1.7999876e-6, 0, 0],
    x0: [-0.075205824, 0.004629268, 0.017425683],
  },
  {
    title: 'dsgt',
    method: 'dsgt',
    figures: [0.113594732, 0.026715563, 1.72504648e-4, 6.79056644e-6, 0, 0],
    x0: [-0.074334314, 0.021648437, 0.015355855],
  },
  {
    title: 'diging',
    method: 'diging',
    figures: [0.113814661, 0.032486628, 1.72192849e-4, 9.05496675e-6, 0, 0],
    x0: [-0.07373624, 0.025264387, 0.014510449],
  },
  {
    title: 'extra',
    method: 'extra',
    figures: [0.113865838, 0.001813755, 1.73388971e-4, 1.19134478e-6, 0, 0],
    x0: [-0.075155109, 0.004878476, 0.017578204],
  },
  {
    title: 'momentum tracking .9',
    method: 'momentum-tracking',
    figures: [0.112087976, 0.17523369, 0.001045051, 0.011908002, 0, 0],
    x0: [-0.224384318, 0.123592063, 0.042845726],
  },
  {
    title: 'mt, exact start',
    method: 'momentum-tracking',
    settings: { exactStart: true },
    figures: [0.119750629, 0.015558656, 4.37902093e-4, 7.9883519e-4, 0, 0],
    x0: [-0.23348372, 0.012623743, 0.048765763],
  },
  {
    title: 'relay model',
    method: 'relaysgd',
    problem: () => ({ edges: binaryTree }),
    figures: [0.172937914, 0.00245477, 0.011229743, 1.5542988e-4, 0, 0],
    x0: [-0.040326079, 0.003416603, 0.008968773],
  },
  {
    title: 'powergossip 2x4',
    method: 'powergossip',
    problem: () => ({
      edges: ringEdges,
      tensors: [{ offset: 0, size: 8, shape: [2, 4] }],
      random: new Float64Array(8).fill(1),
    }),
    figures: [0.115586487, 0.133968042, 0.011842365, 0.155262573, null, null],
    x0: [-0.069594165, 0.070002148, 0.031923778],
    // Which directions the iteration finds depends on the last bits in the end.
    float32: [1e-6, 0.02, 1],
  },
  {
    title: 'gossip-pga 4',
    method: 'gossip-pga',
    settings: { period: 4 },
    figures: [0.113458168, 0.038869871, 0.001586735, 0, 0.001511243, 0],
    x0: [-0.069815706, 0.02500974, 0.010295035],
  },
  {
    title: 'local sgd 4',
    method: 'local-sgd',
    settings: { period: 4 },
    figures: [0.115660143, 0.110727137, 0.009902324, 0, 0.009807184, 0],
    x0: [-0.104465474, 0.058833984, 0.040840637],
  },
  {
    title: 'slowmo 4 .5',
    method: 'slowmo',
    settings: { period: 4 },
    figures: [0.091038926, 0.110520027, 0.009818411, 0, 0.009807184, 0],
    x0: [-0.120354489, 0.059419587, 0.044953614],
  },
  {
    title: 'diloco 4',
    method: 'diloco',
    settings: { period: 4 },
    figures: [0.064820252, 0.11030286, 0.009573118, 0, 0.009807184, 0],
    x0: [-0.13742849, 0.060035834, 0.049317166],
  },
  {
    title: 'feddkd 4',
    method: 'feddkd',
    settings: { period: 4, distilRate: 0.1 },
    figures: [0.116903049, 0.110754772, 0.022541269, 0, 0.02248078, 0],
    x0: [-0.101359783, 0.055019396, 0.041636749],
  },
  {
    title: 'ntk-dfl 1 or 8',
    method: 'ntk-dfl',
    settings: { candidates: [1, 8] },
    figures: [0.010750163, 0.277714275, 0.010731442, 0.277714419, 0.010731442, 0.277714419],
    x0: [-0.111478307, 0.14048533, -0.02626944],
  },
  {
    title: 'dispfl 4',
    method: 'dispfl',
    settings: { rounds: 25 },
    figures: [0.136267616, 0.283160189, 0.0797815668, 0.578498365, 0.0952642858, 0.592791035],
    x0: [-0.04875, 0.143963337, 0],
  },
  {
    title: 'noloco 4',
    method: 'noloco',
    settings: { period: 4, mu: 0.9 },
    problem: () => ({ weights: pairs }),
    figures: [0.108931916, 0.214684197, 0.023382205, 0.175751007, 0.022570797, 0.210275087],
    x0: [-0.10342094, 0.126740511, 0.02722928],
  },
  {
    title: 'dsgd-ac p3',
    method: 'dsgd-ac',
    settings: { etaMax: 0.05 },
    problem: () => ({ rate: decay }),
    figures: [0.119208607, 0.111909079, 0.021746872, 0.241564985, 0.076655375, 0.696271851],
    x0: [-0.083259228, 0.076169852, 0.020584883],
  },
  {
    title: 'adagossip top2',
    method: 'adagossip',
    problem: top2,
    figures: [0.115982633, 0.299226266, 0.059063508, 0.591823508, null, null],
    x0: [-0.147308406, 0.157685828, 0.050148924],
  },
  {
    title: 'beer top2 .4',
    method: 'beer',
    settings: { gamma: 0.4 },
    problem: top2,
    figures: [0.115363414, 0.100545259, 7.75418121e-4, 0.00608104, 0, 0],
    x0: [-0.069035874, 0.066480859, 0.020375741],
  },
  {
    title: 'lead qsgd16',
    method: 'lead',
    problem: () => ({ compress: compressors.qsgd16 }),
    figures: [0.113710054, 0.001944775, 1.73366666e-4, 2.15423958e-6, 0, 0],
    x0: [-0.074116853, 0.004454501, 0.017770496],
  },
  {
    title: 'dfedavgm 4 .9',
    method: 'dfedavgm',
    settings: { period: 4 },
    figures: [0.042602343, 0.280791358, 0.020336997, 0.277478034, 0.020336996, 0.277478034],
    x0: [-0.13122809, 0.178140591, 0.017859994],
  },
  {
    title: 'dfedsam 4 .9 .05',
    method: 'dfedsam',
    settings: { period: 4 },
    figures: [0.036133753, 0.292722842, 0.018495971, 0.286154002, 0.018495971, 0.286154002],
    x0: [-0.134928718, 0.187621288, 0.01791477],
  },
  {
    // Gradients that depend on the step, as those of batches do: with exact ones it would be gradient tracking.
    title: 'gt-hsgd .2, noise',
    method: 'gt-hsgd',
    settings: { beta: 0.2 },
    problem: () => ({
      gradient: (i, x, t) =>
        gradient(
          i,
          x.map((v, j) => v - 0.2 * Math.cos(3 * t + i + j)),
        ).map((v) => v * (1 + 0.3 * Math.sin(t + i))),
    }),
    figures: [0.116711836, 0.0219900539, 9.91249618e-4, 0.0014182896, 0.00107452455, 0.00137908515],
    x0: [-0.072399254, 0.023973843, 0.003819831],
  },
  {
    title: 'tether',
    method: 'tether',
    figures: [0.113157195, 0.0574640248, 0.0325544427, 0.11021045, 0, 0],
    x0: [-0.0908001144, 0.0334955719, 0.028512284],
    // When it averages hangs on numbers that differ in their last bits.
    float32: [1e-5, 1e-3, 1e-5],
  },
  {
    title: 'tether .2, momentum .9',
    method: 'tether',
    settings: { target: 0.2 },
    problem: () => heavyBall(0.9),
    figures: [0.11875795, 0.0566047899, 0.000817286722, 0.0569673473, 0, 0],
    x0: [-0.238714354, 0.0418189273, 0.0610905308],
    float32: [1e-5, 1e-3, 1e-5],
  },
  {
    title: 'iso-xi',
    method: 'iso-xi',
    figures: [0.113959306, 0.0798064644, 0.00510169976, 0.0835225949, 0.00488410098, 0],
    x0: [-0.0682083104, 0.0512520354, 0.00713903607],
    float32: [1e-5, 1e-5, 1e-3],
  },
  {
    title: 'iso-xi .1, momentum .9',
    method: 'iso-xi',
    settings: { distance: 0.1 },
    problem: () => heavyBall(0.9),
    figures: [0.096994304, 0.160431227, 0.00183398672, 0.160956995, 0.00228845828, 0.160977125],
    x0: [-0.257969573, 0.0927588714, 0.0805159929],
    float32: [1e-5, 1e-4, 1e-4],
  },
  {
    title: 'leash',
    method: 'leash',
    figures: [0.112080176, 0.057465167, 0.0181277492, 0.320642892, 0.000565180914, 0],
    x0: [-0.0908148965, 0.0319736189, 0.0303869959],
    // What is rounded up and what down hangs on last bits, too.
    float32: [1e-5, 1e-2, 1e-3],
  },
  {
    title: 'leash .2, unrounded, momentum .9',
    method: 'leash',
    settings: { target: 0.2, bits: 32 },
    problem: () => heavyBall(0.9),
    figures: [0.127034686, 0.0566025585, 0.00135827372, 0.0569666394, 0, 0],
    x0: [-0.243605409, 0.0417185317, 0.0631055301],
    float32: [1e-5, 1e-4, 1e-5],
  },
  {
    title: 'leash .3, 8 bits, momentum .9',
    method: 'leash',
    settings: { target: 0.3, bits: 8 },
    problem: () => heavyBall(0.9),
    figures: [0.12715724, 0.0566047312, 0.000664682654, 0.0569567773, 0.000224115226, 0],
    x0: [-0.243378109, 0.0414330388, 0.0634391447],
    float32: [1e-5, 1e-3, 1e-3],
  },
  {
    title: 'ladder',
    method: 'ladder',
    figures: [0.115416898, 0.247853717, 0.0145297901, 0.158769709, 0, 0],
    x0: [-0.147040618, 0.126713773, 0.0665342485],
    float32: [1e-5, 1e-3, 1e-5],
  },
  {
    title: 'ladder 1.5, momentum .9',
    method: 'ladder',
    settings: { target: 1.5 },
    problem: () => heavyBall(0.9),
    figures: [0.113283966, 0.62452596, 0.00112154672, 0.0569750071, 0, 0],
    x0: [-0.427366925, 0.321656434, 0.175753617],
    float32: [1e-5, 1e-3, 1e-5],
  },
  {
    title: 'ladder with gossip',
    method: 'ladder',
    settings: {
      target: 0.5,
      rungs: [
        { by: 'average', every: 1, gain: 1, cost: 2 },
        { by: 'gossip', every: 1, gain: 3, cost: 1 },
        { by: 'average', every: 4, gain: 20, cost: 0.5 },
        { by: 'gossip', every: 2, gain: 30, cost: 0.45 },
      ],
    },
    figures: [0.113811237, 0.100718391, 0.00894216763, 0.0570260979, 0, 0],
    x0: [-0.0814320532, 0.0676686863, 0.0166434392],
    float32: [1e-5, 1e-3, 1e-5],
  },
  {
    title: 'local sgd, common momentum .9',
    method: 'local-sgd',
    settings: { period: 4, commonMomentum: true },
    problem: () => heavyBall(0.9),
    figures: [0.0846592342, 0.160713418, 0.0101866145, 0, 0.0103084682, 0],
    x0: [-0.248662329, 0.0895544571, 0.0838334797],
  },
  {
    title: 'local sgd, growing period',
    method: 'local-sgd',
    settings: { period: 4, growth: 2 },
    problem: () => ({ rate: decay }),
    figures: [0.120491141, 0, 0.0204606912, 0.0833382502, 0.0652314225, 0.696262925],
    x0: [-0.0696885902, 0.00235497378, 0.0194781448],
  },
  {
    title: 'local sgd, replayed',
    method: 'local-sgd',
    settings: { after: [3, 5, 9, 40, 98, 500] },
    figures: [0.115158805, 0.0574950152, 0.0736815754, 0.110914831, 0.0918567563, 0.80315806],
    x0: [-0.0893410479, 0.0324056602, 0.030100264],
  },
];
