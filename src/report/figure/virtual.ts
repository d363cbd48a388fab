import type { Group, RunReport, VirtualReport } from '../report.ts';
import { logAxis, percent, seconds, ticksIn } from './axis.ts';
import { compose } from './compose.ts';
import { type CurveColumns, curveMarks, curveOf, curveTips, inPercent, lateDomain, legendOf } from './curve.ts';
import { type Choice, type Choices, type Figure, groupsOf, type View } from './figure.ts';

/** The network to look at; each becomes a file of its own. */
export const networkChoice = ({ report }: View): Choice => ({
  id: 'network',
  label: 'Network',
  each: true,
  options: report.networks.map(({ name }) => ({ value: name, label: name })),
});

/** What groups to look at, of those that have something to show. */
export const implementationChoice = (groups: readonly Group[]): Choice => ({
  id: 'implementation',
  label: 'Implementation',
  options: groups.map(({ name }) => ({ value: name, label: name })),
});

export const implementationOf = (groups: readonly Group[], { implementation }: Choices): Group =>
  groups.find(({ name }) => name === implementation) ?? groups[0]!;

export const networkOf = ({ report }: View, { network }: Choices): VirtualReport =>
  report.networks.find(({ name }) => name === network) ?? report.networks[0]!;

/** Groups whose first run has something to show on some network, those that have on all of them first. */
export function drawable(view: View, has: (first: VirtualReport['runs'][number]) => boolean): readonly Group[] {
  const on = ({ runs }: Group) => view.report.networks.filter((network) => has(network.runs[runs[0]!]!)).length;
  return groupsOf(view)
    .filter((group) => on(group) > 0)
    .toSorted((a, b) => on(b) - on(a));
}

/** What is seen of one implementation. */
export const oneOn = ({ report }: View, group: Group, { name, groups }: VirtualReport): string =>
  groups[report.groups.indexOf(group)]!.elsewhere
    ? `${group.name} cannot be timed on ${name}: there it would be another run`
    : `${group.name} on ${name}`;

/** What is seen of all: those whose learning followed time are on their own network alone. */
export function allOn({ report }: View, { name, compute, groups }: VirtualReport): string {
  const missing = report.groups.filter((_, index) => groups[index]!.elsewhere).map((group) => group.name);
  const without = missing.length === 0 ? '' : ` Cannot be timed here: ${missing.join(', ')}.`;
  return `On ${name}, a step computes ${compute}.${without}`;
}

function columnsOf(network: VirtualReport, index: number, run: RunReport): CurveColumns {
  const { step, seconds } = network.runs[index]!;
  const { mean, min, max } = run.evaluations.accuracy;
  return { step, x: seconds, y: mean, low: min, high: max };
}

export const virtual: Figure = {
  id: 'accuracy-virtual-time',
  title: 'Accuracy on a network',
  caption:
    'The same runs, timed on a network without training again: test accuracy of the local models against virtual time, when the last replica had finished the steps before the evaluation. A line is the mean over replicas and seeds, the band runs from the least to the largest seed. Evaluation takes no virtual time.',
  wide: true,
  applies: ({ report }) => report.networks.length > 0,
  choices: (view) => [
    networkChoice(view),
    {
      id: 'scale',
      label: 'Time',
      options: [
        { value: 'log', label: 'logarithmic' },
        { value: 'linear', label: 'linear' },
      ],
    },
  ],
  draw(view, choices, frame) {
    const { report } = view;
    const network = networkOf(view, choices);
    const groups = groupsOf(view);
    const curves = groups.map((group) => {
      const places = new Map(group.runs.map((index) => [report.runs[index]!, index]));
      return inPercent(curveOf(report, group, (run) => columnsOf(network, places.get(run)!, run)));
    });
    const domain = lateDomain(curves);
    const xs = curves.flatMap(({ points }) => points.map(({ x }) => x)).filter((x) => x > 0);
    return compose(frame, {
      legend: legendOf(report, groups, frame),
      statements: [allOn(view, network)],
      panels: [
        {
          height: 340,
          x: {
            label: 'virtual time',
            ticks: ticksIn(frame.width),
            ...(choices.scale === 'log' ? logAxis(xs) : { zero: true }),
            tickFormat: seconds,
          },
          y: { label: 'test accuracy (%)', grid: true, nice: true, ticks: 7, inset: 4, ...(domain && { domain }) },
          marks: [
            ...curveMarks(report, curves, frame, { dots: true, domain }),
            ...curveTips(
              curves.map((curve) => ({
                ...curve,
                tip: ({ x, y }) => `${seconds(x)}\ntest accuracy ${percent(y / 100)}`,
              })),
              frame,
            ),
          ],
        },
      ],
    });
  },
};
