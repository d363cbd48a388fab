import { coordinate, escaped } from './svg.ts';

/** Pipelines over devices: what is drawn of an assignment. */
export interface AssignmentPicture {
  readonly title: string;
  readonly facts: string;
  /** Stage by stage; the i-th devices of all stages form a pipeline. */
  readonly stages: readonly {
    readonly devices: readonly { readonly label: string; readonly place: string }[];
    /** What its group's exchange of gradients takes, and of what. */
    readonly seconds: number;
    readonly text: string;
  }[];
  /** Seconds of each pipeline's hop from a stage to the next, stage by stage. */
  readonly hops: readonly (readonly number[])[];
}

// Okabe & Ito's colours, told apart with any colour vision; more places repeat them and are told by their labels.
const colours = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#b8a900', '#7a7a7a'];

const style = `
.dbench-assignment{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.dbench-assignment .back{fill:#fff}
.dbench-assignment text{fill:#1b2530}
.dbench-assignment .muted{fill:#56616d}
.dbench-assignment .hop{stroke:#1b2530;fill:none}
.dbench-assignment .bar{fill:#9aa5b1}
.dbench-assignment .middle{text-anchor:middle}
@media (prefers-color-scheme:dark){
.dbench-assignment .back{fill:#12171d}
.dbench-assignment text{fill:#e8edf2}
.dbench-assignment .muted{fill:#9fabb8}
.dbench-assignment .hop{stroke:#e8edf2}
.dbench-assignment .bar{fill:#5d6975}
}`;

const [left, top, columnWidth, rowHeight, barHeight] = [28, 118, 118, 40, 56];

/** Stages as columns, pipelines as rows; a hop is the wider the longer it takes, and bars say how long each group exchanges. */
export function drawAssignment({ title, facts, stages, hops }: AssignmentPicture): string {
  const rows = stages[0]!.devices.length;
  const width = Math.max(560, left + stages.length * columnWidth + 20);
  const foot = top + rows * rowHeight;
  const height = foot + barHeight + 74;
  const places = [...new Set(stages.flatMap(({ devices }) => devices.map(({ place }) => place)))];
  const x = (stage: number) => left + (stage + 0.5) * columnWidth;
  const y = (pipeline: number) => top + (pipeline + 0.5) * rowHeight;
  const longestHop = Math.max(...hops.flat(), Number.MIN_VALUE);
  const longestShare = Math.max(...stages.map(({ seconds }) => seconds), Number.MIN_VALUE);
  const lines = hops.flatMap((each, stage) =>
    each.map((seconds, pipeline) => {
      const share = seconds / longestHop;
      const d = `M${coordinate(x(stage))} ${coordinate(y(pipeline))}L${coordinate(x(stage + 1))} ${coordinate(y(pipeline))}`;
      return `<path class="hop" d="${d}" stroke-width="${(1 + 5 * share).toFixed(1)}" stroke-opacity="${(0.15 + 0.55 * share).toFixed(2)}"/>`;
    }),
  );
  const columns = stages.flatMap(({ devices, seconds, text }, stage) => {
    const bar = (barHeight * seconds) / longestShare;
    return [
      `<text class="muted middle" x="${x(stage)}" y="${top - 10}" font-size="13">stage ${stage + 1}</text>`,
      ...devices.map(({ label, place }, pipeline) => {
        const colour = colours[places.indexOf(place) % colours.length];
        return `<circle cx="${x(stage)}" cy="${y(pipeline)}" r="8" fill="${colour}"/><text class="middle" x="${x(stage)}" y="${y(pipeline) + 21}" font-size="11">${escaped(label)}</text>`;
      }),
      `<rect class="bar" x="${x(stage) - 14}" y="${coordinate(foot + 14 + barHeight - bar)}" width="28" height="${coordinate(bar)}"/>`,
      `<text class="middle" x="${x(stage)}" y="${foot + barHeight + 30}" font-size="12">${escaped(text)}</text>`,
    ];
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="dbench-assignment" role="img" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    `<title>${escaped(title)}</title>`,
    `<style>${style}\n</style>`,
    `<rect class="back" width="${width}" height="${height}"/>`,
    `<text x="${left}" y="42" font-size="22" font-weight="600">${escaped(title)}</text>`,
    `<text class="muted" x="${left}" y="66" font-size="14">${escaped(facts)}</text>`,
    `<text class="muted" x="${left}" y="86" font-size="13">A row is a pipeline; wider links take longer. Bars: the group's exchange of gradients.</text>`,
    ...lines,
    ...columns,
    '</svg>\n',
  ].join('\n');
}
