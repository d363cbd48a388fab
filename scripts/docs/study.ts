import { studentQuantile } from '../../src/base/statistics.ts';
import { estimate } from '../../src/metric/estimate.ts';
import {
  bestFixed,
  type Cell,
  cellName,
  cells,
  copiesOf,
  differenceOf,
  fixed,
  harmAndLoss,
  localTrend,
  meanOf,
  type Place,
  passCount,
  passes,
  progress,
  rows,
  runsOf,
  shown,
  spearman,
  standing,
  variantsIn,
} from '../study/judge.ts';
import { markdownTable } from './markdown.ts';

/** The generated parts of docs/study.md, from docs/study/runs.csv alone. */

const percent = (share: number) => (Number.isNaN(share) ? 'diverged' : (100 * share).toFixed(2));
const signed = (value: number, digits = 2) =>
  `${value < 0 ? '−' : value > 0 ? '+' : ''}${Math.abs(value).toFixed(digits)}`;
const copies = (value: number) => (value < 10 ? value.toFixed(1) : value.toFixed(0));
const times = (value: number) => (value >= 10 ? value.toFixed(0) : value.toFixed(1));
const text = ({ cell }: Cell) => cell.startsWith('lstm');
/** Cells at their own rate. */
const placed = (among: readonly Cell[]): Place[] => among.map((cell) => ({ cell, rate: 1 }));
const withTether = () => cells.filter((cell) => passes(cell, 'tether') !== undefined);
const list = (values: readonly string[]) => (values.length === 0 ? 'none' : values.join('; '));

/** Difference to C_complete with its two-sided 95 % interval, in points, or for text in % of perplexity. */
function apart(cell: Cell, variant: string, rate = 1, base = 'C_complete'): string {
  const difference = differenceOf(cell, variant, base, rate);
  if (difference === undefined) return '';
  const { mean, error, seeds } = difference;
  const half = studentQuantile(0.95, seeds - 1) * error;
  const [low, high] = [-half, half].map((off) => shown(cell, mean + off)) as [number, number];
  return `${signed(shown(cell, mean))} ± ${(Math.abs(high - low) / 2).toFixed(2)}`;
}

/** What is said beside a difference that does not pass. */
function mark(cell: Cell, variant: string, rate = 1): string {
  const found = standing(cell, variant, rate);
  return found === undefined || found === 'passes' ? '' : ` (${found})`;
}

const verdict = (holds: boolean | undefined) =>
  holds === undefined ? 'cannot be told yet' : holds ? '**holds**' : '**does not hold**';

export const studyProgress = (): string =>
  markdownTable(
    ['cell', 'runs done', 'of'],
    [...progress()].map(([cell, [done, all]]) => [cell, String(done), String(all)]),
  );

function seedsOf(cell: Cell, variant: string): string {
  const runs = [...runsOf(cell, variant).values()];
  const diverged = runs.filter(({ status }) => status !== 'complete').length;
  return diverged === 0 ? String(runs.length) : `${runs.length}, ${diverged} diverged`;
}

/** Each variant of a cell, the most expensive first. */
export const studyTables = (): string =>
  cells
    .filter((cell) => variantsIn(cell).length > 0)
    .map((cell) => {
      const score = text(cell) ? 'loss' : 'merged %';
      const apartHeader = text(cell) ? 'perplexity − C_complete, %' : '− C_complete, points';
      const header = [
        ...['variant', score, apartHeader, 'stands', 'copies sent', 'local %', 'seeds'],
        ...['fast s', 'LAN s', 'WAN s'],
      ];
      const lines = variantsIn(cell)
        .toSorted((a, b) => copiesOf(cell, b) - copiesOf(cell, a))
        .map((variant) => [
          variant,
          text(cell)
            ? meanOf(cell, variant, (row) => row.mergedLoss).toFixed(3)
            : percent(meanOf(cell, variant, (row) => row.mergedAccuracy)),
          variant === 'C_complete' ? '' : apart(cell, variant),
          variant === 'C_complete' ? '' : standing(cell, variant)!,
          copies(copiesOf(cell, variant)),
          percent(meanOf(cell, variant, (row) => row.accuracy)),
          seedsOf(cell, variant),
          ...(['fast', 'lan', 'wan'] as const).map((network) => {
            const seconds = meanOf(cell, variant, (row) => row[network]);
            return Number.isNaN(seconds) ? '' : seconds.toPrecision(3);
          }),
        ]);
      return `**${cellName(cell)}**\n\n${markdownTable(header, lines)}`;
    })
    .join('\n\n');

/** Whether all fixed periods were run. */
const isSearched = (cell: Cell) => fixed.every((variant) => variantsIn(cell).includes(variant));

/** The tether beside what it is held against, a line per cell. */
export const studySummary = (): string =>
  markdownTable(
    [
      'cell',
      'tether − C_complete',
      'stands',
      'copies',
      'fewer than C_complete',
      'than Ada',
      'best fixed period in hindsight',
      'its copies',
      'yoked',
      'uniform',
    ],
    withTether().map((cell) => {
      const [own, best] = [copiesOf(cell, 'tether'), bestFixed(cell)];
      const control = (variant: string) => `${apart(cell, variant)}${mark(cell, variant)}`;
      const ada = copiesOf(cell, 'Ada') / own;
      return [
        ...[cellName(cell), apart(cell, 'tether'), standing(cell, 'tether')!, copies(own)],
        ...[`${times(copiesOf(cell, 'C_complete') / own)}×`, Number.isNaN(ada) ? '' : `${times(ada)}×`],
        ...[
          best === 'C_complete' ? 'none passes' : `${best}${isSearched(cell) ? '' : ' (of three)'}`,
          copies(copiesOf(cell, best)),
          control('yoked'),
          control('uniform'),
        ],
      ];
    }),
  );

/** Fixed periods with the rounding of the second method. */
const rounded = ['rounded-1', 'rounded-2', 'rounded-4'];

/** The second method beside what it is held against, and its criteria. */
export const studySecond = (): string => {
  const among = cells.filter((cell) => passes(cell, 'leash') !== undefined);
  if (among.length === 0) return 'No cell has three seeds of it yet.';
  const found = (cell: Cell, variant: string) =>
    passes(cell, variant) === undefined
      ? ''
      : `${apart(cell, variant)}, ${copies(copiesOf(cell, variant))} copies${mark(cell, variant)}`;
  const fewer = (cell: Cell, than: string) => copiesOf(cell, than) / copiesOf(cell, 'leash');
  const table = markdownTable(
    ['cell', 'leash − C_complete', 'fewer bytes than C_complete', 'than Ada', 'leash-exact', ...rounded],
    among.map((cell) => [
      ...[cellName(cell), found(cell, 'leash')],
      ...['C_complete', 'Ada'].map((than) => (Number.isNaN(fewer(cell, than)) ? '' : `${times(fewer(cell, than))}×`)),
      ...['leash-exact', ...rounded].map((variant) => found(cell, variant)),
    ]),
  );
  const { passed, holm, of } = passCount(placed(among), 'leash');
  const asked = Math.ceil((6 / 7) * of);
  const cheap = among.filter((cell) => fewer(cell, 'Ada') >= 20);
  const whole = among.filter((cell) => rounded.every((variant) => passes(cell, variant) !== undefined));
  /** Of fixed periods that pass in a cell, the copies of the cheapest. */
  const least = (cell: Cell) =>
    Math.min(...rounded.filter((variant) => passes(cell, variant)).map((variant) => copiesOf(cell, variant)));
  const near = (variant: string) =>
    whole.filter((cell) => passes(cell, variant) && copiesOf(cell, variant) <= 1.25 * least(cell)).length;
  const counted = (variant: string) => {
    const count = passCount(placed(whole), variant);
    return `${count.passed.length} (${count.holm} with Holm's correction)`;
  };
  const everywhere = rounded.filter((variant) => whole.length > 0 && whole.every((cell) => passes(cell, variant)));
  const criteria = [
    `1. *Not worse than C_complete:* passes in ${passed.length} of ${of} cells (${holm} with Holm's correction); ${asked} were asked for: ${verdict(holm >= asked)}.${fully(among, 'leash')}`,
    `2. *Bytes:* at most 1/20 of Ada's in ${cheap.length} of ${of} cells: ${verdict(cheap.length === of)}.`,
    whole.length === 0
      ? '3. *Against fixed periods with the same rounding:* cannot be told yet.'
      : `3. *Against fixed periods with the same rounding:* it passes with at most 1.25 × the bytes of the cheapest that passes in ${near('leash')} of ${whole.length} cells, ${Math.ceil((5 / 7) * whole.length)} asked for; ${list(rounded.map((variant) => `${variant} does in ${near(variant)}, and passes in ${counted(variant)}`))}: ${verdict(near('leash') >= (5 / 7) * whole.length && rounded.every((variant) => near(variant) < (5 / 7) * whole.length))}. A fixed period that passes everywhere: ${list(everywhere)}.`,
  ];
  return [table, '', ...criteria].join('\n');
};

/** The same without cells of two seeds, which can hardly tell anything. */
function fully(among: readonly Cell[], variant: string): string {
  const many = among.filter((cell) => differenceOf(cell, variant, 'C_complete')!.seeds > 2);
  if (many.length === among.length) return '';
  const { passed, holm, of } = passCount(placed(many), variant);
  return ` Without the cells that have two seeds: ${passed.length} of ${of} (${holm}), ${Math.ceil((6 / 7) * of)} asked for.`;
}

function first(): string {
  const { passed, holm, of } = passCount(placed(withTether()), 'tether');
  const holds = of === 0 ? undefined : holm >= (6 / 7) * of;
  const others = (wanted: 'fails' | 'open') =>
    list(
      withTether()
        .filter((cell) => standing(cell, 'tether') === wanted)
        .map((cell) => `${cellName(cell)} (${apart(cell, 'tether')})`),
    );
  return `1. *Not worse than C_complete:* the tether passes in ${passed.length} of ${of} cells (${holm} with Holm's correction); ${Math.ceil((6 / 7) * of)} were asked for: ${verdict(holds)}.${fully(withTether(), 'tether')} It fails in: ${others('fails')}. Open: ${others('open')}.`;
}

function second(): string {
  const among = withTether().filter((cell) => runsOf(cell, 'Ada').size > 0);
  const ratio = (cell: Cell, base: string) => copiesOf(cell, base) / copiesOf(cell, 'tether');
  const count = (base: string, least: number) => among.filter((cell) => ratio(cell, base) >= least).length;
  const [must, ten, four] = [count('Ada', 2), count('Ada', 10), count('C_complete', 4)];
  const both = among.filter((cell) => ratio(cell, 'Ada') >= 10 && ratio(cell, 'C_complete') >= 4).length;
  const holds = among.length === 0 ? undefined : must === among.length && both >= (6 / 7) * among.length;
  const twenty = among.filter((cell) => ratio(cell, 'Ada') >= 20);
  return `2. *Bytes:* at most ½ of Ada's in ${must} of ${among.length} cells, at most 1/10 in ${ten}, at most ¼ of C_complete's in ${four}; the last two together in ${both}, ${Math.ceil((6 / 7) * among.length)} asked for: ${verdict(holds)}. At most 1/20 of Ada's in ${twenty.length}, and passing there too in ${twenty.filter((cell) => passes(cell, 'tether')).length}.`;
}

function third(): string {
  const among = withTether().filter(isSearched);
  const good = (variant: string) =>
    among.filter((cell) => passes(cell, variant) && copiesOf(cell, variant) <= 1.25 * copiesOf(cell, bestFixed(cell)));
  const own = good('tether');
  if (among.length === 0) return '3. *Against hindsight:* cannot be told yet: no cell has all fixed periods.';
  const best = fixed.toSorted((a, b) => good(b).length - good(a).length)[0]!;
  const holds =
    among.length === 0 ? undefined : own.length >= (5 / 7) * among.length && good(best).length < (5 / 7) * among.length;
  return `3. *Against hindsight:* it passes with at most 1.25 × the bytes of the cheapest fixed period that passes in ${own.length} of ${among.length} cells, ${Math.ceil((5 / 7) * among.length)} asked for; the best single fixed period, ${best}, does in ${good(best).length}: ${verdict(holds)}. The cheapest are ${list(among.map((cell) => `${cellName(cell)}: ${bestFixed(cell)} with ${copies(copiesOf(cell, bestFixed(cell)))} copies, tether ${copies(copiesOf(cell, 'tether'))}`))}.`;
}

function fourth(): string {
  const among = [0.5, 2]
    .flatMap((rate) => cells.map((cell) => ({ cell, rate })))
    .filter(({ cell, rate }) => passes(cell, 'tether', rate) !== undefined);
  if (among.length === 0) return '4. *Other rates:* cannot be told yet.';
  const { passed, holm } = passCount(among, 'tether');
  const holds = holm >= (5 / 7) * among.length;
  const told = among.map(
    ({ cell, rate }) =>
      `${cellName(cell)} × ${rate}: ${apart(cell, 'tether', rate)} with ${copies(copiesOf(cell, 'tether', rate))} copies${mark(cell, 'tether', rate)}`,
  );
  return `4. *Other rates:* at half and twice the rate it passes in ${passed.length} of ${among.length} (${holm} with Holm's correction), ${Math.ceil((5 / 7) * among.length)} asked for: ${verdict(holds)}. ${list(told)}.`;
}

/** In how many cells one variant is clearly better and clearly worse than another: the 95 % interval is on one side of 0. */
function clearly(among: readonly Cell[], a: string, b: string): string {
  const found = among.flatMap((cell) => differenceOf(cell, a, b) ?? []);
  const clear = found.filter(({ mean, error, seeds }) => Math.abs(mean) > studentQuantile(0.95, seeds - 1) * error);
  const better = clear.filter(({ mean }) => mean > 0).length;
  return `clearly better than ${b} in ${better}, clearly worse in ${clear.length - better}`;
}

function fifth(): string {
  const among = withTether().filter((cell) =>
    ['yoked', 'uniform'].every((variant) => passes(cell, variant) !== undefined),
  );
  const [own, yoked, uniform] = ['tether', 'yoked', 'uniform'].map((variant) => passCount(placed(among), variant)) as [
    ReturnType<typeof passCount>,
    ReturnType<typeof passCount>,
    ReturnType<typeof passCount>,
  ];
  const nothing = among.length > 0 && Math.min(yoked.holm, uniform.holm) >= (6 / 7) * among.length;
  const says =
    among.length === 0
      ? 'cannot be told yet'
      : nothing
        ? '**the loop adds nothing over its schedule**'
        : '**by this rule not falsified**';
  const shown =
    own.passed.length > Math.max(yoked.passed.length, uniform.passed.length)
      ? ''
      : ', but neither is it shown that the loop adds anything: open-loop schedules with as many averages pass as often';
  return `5. *Falsifier:* in ${among.length} cells with both controls the tether passes in ${own.passed.length}, its schedule of another seed (yoked) in ${yoked.passed.length}, as many averages evenly spaced (uniform) in ${uniform.passed.length}; ${Math.ceil((6 / 7) * among.length)} of both would falsify: ${says}${nothing ? '' : shown}. The tether is ${clearly(among, 'tether', 'yoked')}; ${clearly(among, 'tether', 'uniform')}.`;
}

function sixth(): string {
  const among = cells.filter(
    (cell) =>
      new Set(
        rows
          .filter((row) => row.cell === cell.cell && row.data === cell.data && row.variant.startsWith('tether-'))
          .map((row) => row.variant),
      ).size > 2,
  );
  if (among.length === 0) return '6. *q means something:* cannot be told yet.';
  const found = among.map((cell) => {
    const { harm, averages, loss } = harmAndLoss(cell);
    return { cell, rho: spearman(harm, loss), seldom: -spearman(averages, loss), runs: harm.length };
  });
  const holds = found.every(({ rho }) => rho > 0.5);
  return `6. *q means something:* rank correlation of mean q with excess loss: ${list(found.map(({ cell, rho, runs }) => `${cellName(cell)}: ${signed(rho)} over ${runs} runs`))}: ${verdict(holds)}. But how few averages there were ranks the loss as well: ${list(found.map(({ cell, seldom }) => `${cellName(cell)}: ${signed(seldom)}`))}.`;
}

export const studyCriteria = (): string => {
  const everywhere = fixed.filter(
    (variant) =>
      variant.startsWith('common-') && withTether().length > 0 && withTether().every((cell) => passes(cell, variant)),
  );
  const simpler = `Local SGD with common momentum and one fixed period passes in all of these cells: ${list(everywhere)}.`;
  return [first(), second(), third(), fourth(), fifth(), sixth(), '', simpler].join('\n');
};

/** The paper's implementations, from many connections to few. */
const decentralized = ['D_complete', 'D_exponential', 'D_torus', 'D_ring'];
const implementations = ['C_complete', ...decentralized];

/** A change of local accuracy in points with its interval and what it says. */
function told({ trend: { change }, verdict: { holds, seeds } }: ReturnType<typeof localTrend>): string {
  const says = holds === null ? `open, ${seeds} seeds might tell` : holds ? 'holds' : 'does not hold';
  return `${signed(100 * change.mean)} ± ${(100 * (change.half ?? Number.NaN)).toFixed(2)}: ${says}`;
}

/** Of two cells that differ in the number of replicas alone: what more of them cost, seed by seed. */
function withScale(less: string, more: string): string {
  const changes = implementations.map((variant) => {
    const found = (['alike', 'skewed'] as const).map((data) => {
      const [few, many] = [less, more].map((cell) => runsOf({ cell, data }, variant));
      const { mean, half } = estimate([...few!].map(([seed, row]) => many!.get(seed)!.accuracy - row.accuracy))!;
      return `${signed(100 * mean)} ± ${(100 * half!).toFixed(2)}`;
    });
    return `${variant} ${found.join(' and ')}`;
  });
  return `*More replicas.* From ${less} to ${more}, with the same data, rate and samples per replica and step, local accuracy changes by (alike and skewed, points): ${list(changes)}.`;
}

/** The claims of DBench's paper over the implementations of this study. */
export const studyObservations = (): string => {
  const whole = cells.filter((cell) => implementations.every((variant) => variantsIn(cell).includes(variant)));
  const accuracies = markdownTable(
    ['cell', ...implementations.map((name) => `${name}, local %`)],
    whole.map((cell) => [
      cellName(cell),
      ...implementations.map((variant) => percent(meanOf(cell, variant, (row) => row.accuracy))),
    ]),
  );
  const claims = markdownTable(
    [
      ...['cell', 'more connections, more accuracy', 'more variance, less accuracy', 'Ada − D_complete, merged'],
      ...['Ada, fewer bytes than D_complete', 'than C_complete'],
    ],
    whole.map((cell) => {
      const replicas = Number(/\d+$/.exec(cell.cell)![0]);
      const connections = [replicas - 1, Math.log2(replicas), 4, 2];
      const gini = decentralized.map((variant) => meanOf(cell, variant, (row) => row.peakGini));
      const stands = standing(cell, 'Ada', 1, 'D_complete')!;
      return [
        cellName(cell),
        told(localTrend(cell, decentralized, connections, 1)),
        told(localTrend(cell, decentralized, gini, -1)),
        `${apart(cell, 'Ada', 1, 'D_complete')}: ${stands}`,
        `${times(copiesOf(cell, 'D_complete') / copiesOf(cell, 'Ada'))}×`,
        `${(copiesOf(cell, 'C_complete') / copiesOf(cell, 'Ada')).toFixed(2)}×`,
      ];
    }),
  );
  return [accuracies, claims, withScale('mnist-16', 'mnist-64')].join('\n\n');
};
