import type { Group, Report } from '../report.ts';
import type { Frame, SvgElement } from './compose.ts';
import { type Style, styleAt, type Theme } from './theme.ts';

/** One topology of a group, drawn; a group whose topology changes over the epochs has several. */
export interface Picture {
  /** Index into groups. */
  readonly group: number;
  readonly title: string;
  readonly facts: readonly string[];
  /** Inner SVG on a square of 240 units with classes rim, edges, arrows, nodes and dots. */
  readonly shapes: string;
}

/** What figures are drawn of: the report, the scale looked at, and the implementations left out. */
export interface View {
  readonly report: Report;
  readonly pictures: readonly Picture[];
  readonly replicas: number;
  readonly hidden: ReadonlySet<string>;
}

/** Something the reader may choose; the first option holds until then. */
export interface Choice {
  readonly id: string;
  readonly label: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
  /** Each option becomes a file of its own when figures are exported. */
  readonly each?: true;
}

export type Choices = Readonly<Record<string, string>>;

export interface Figure {
  readonly id: string;
  readonly title: string;
  /** What it shows and how to read it. */
  readonly caption: string;
  /** Shows every scale at once instead of the one looked at. */
  readonly allScales?: true;
  /** Whether these runs have anything to show. */
  applies(view: View): boolean;
  choices(view: View): readonly Choice[];
  draw(view: View, choices: Choices, frame: Frame): SvgElement;
}

/** What is chosen, where nothing else is. */
export function defaults(choices: readonly Choice[]): Choices {
  return Object.fromEntries(choices.map(({ id, options }) => [id, options[0]!.value]));
}

/** Names of the implementations in the order of the report: colours and symbols go by it. */
export function implementations(report: Report): readonly string[] {
  return [...new Set(report.groups.map(({ name }) => name))];
}

export function styleOf(report: Report, name: string, theme: Theme): Style {
  return styleAt(implementations(report).indexOf(name), theme);
}

export function scales(report: Report): readonly number[] {
  return [...new Set(report.groups.map(({ replicas }) => replicas))].sort((a, b) => a - b);
}

/** The groups to draw: of the scale looked at, without those left out. */
export function groupsOf({ report, replicas, hidden }: View): readonly Group[] {
  return report.groups.filter((group) => group.replicas === replicas && !hidden.has(group.name));
}

export function comparisonOf({ report, replicas }: View) {
  return report.comparisons.find((comparison) => comparison.replicas === replicas);
}
