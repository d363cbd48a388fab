import type { Comparison, Group, Report, RunReport } from '../report.ts';
import type { Frame, SvgElement } from './compose.ts';
import { type Style, styleAt, type Theme } from './theme.ts';

/** A topology, drawn; a group whose topology changes over the epochs has several. */
export interface Picture {
  /** The groups it is of, as indices, and what it is called there. */
  readonly of: readonly { readonly group: number; readonly title: string }[];
  readonly facts: readonly string[];
  /** Inner SVG on a square of 240 units with classes rim, edges, arrows, nodes and dots. */
  readonly shapes: string;
}

/** What a page holds for its program. */
export interface PageData {
  readonly report: Report;
  readonly pictures: readonly Picture[];
}

/** What figures are drawn of: the report, the comparison looked at (a scale, as a rule), and the implementations left out. */
export interface View extends PageData {
  /** Index into comparisons. */
  readonly comparison: number;
  readonly hidden: ReadonlySet<string>;
}

/** Something the reader may choose; the first option holds until then. */
export interface Choice {
  readonly id: string;
  readonly label: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
  /** Each option becomes a file of its own when figures are exported. */
  readonly each?: true;
  /** Its options follow each other, as points in time do: chosen by a slider. The last one holds until then. */
  readonly slider?: true;
}

export type Choices = Readonly<Record<string, string>>;

export interface Figure {
  readonly id: string;
  readonly title: string;
  /** What it shows and how to read it. */
  readonly caption: string;
  /** Takes a whole row of the page. */
  readonly wide?: true;
  /** Shows all comparisons at once instead of the one looked at. */
  readonly whole?: true;
  /** Whether these runs have anything to show. */
  applies(view: View): boolean;
  choices(view: View): readonly Choice[];
  draw(view: View, choices: Choices, frame: Frame): SvgElement;
}

/** What is chosen unless the reader chooses. */
export function defaults(choices: readonly Choice[]): Choices {
  return Object.fromEntries(choices.map(({ id, options, slider }) => [id, options.at(slider ? -1 : 0)!.value]));
}

/** In the order of the report: colours and symbols go by it. */
export function implementations(report: Report): readonly string[] {
  return [...new Set(report.groups.map(({ name }) => name))];
}

export function styleOf(report: Report, implementation: string, theme: Theme): Style {
  return styleAt(implementations(report).indexOf(implementation), theme);
}

export function scales(report: Report): readonly number[] {
  return [...new Set(report.groups.map(({ replicas }) => replicas))].sort((a, b) => a - b);
}

export function comparisonOf({ report, comparison }: View): Comparison {
  return report.comparisons[comparison]!;
}

/** The groups to draw: of the comparison looked at, without those left out. */
export function groupsOf(view: View): readonly Group[] {
  const groups = comparisonOf(view).groups.map((index) => view.report.groups[index]!);
  return groups.filter(({ name }) => !view.hidden.has(name));
}

/** The runs of the comparison looked at, of all implementations. */
export function runsOf(view: View): readonly RunReport[] {
  const groups = comparisonOf(view).groups.map((index) => view.report.groups[index]!);
  return groups.flatMap(({ runs }) => runs.map((index) => view.report.runs[index]!));
}
