import { readFileSync } from 'node:fs';

/** What is kept of a run of the study: a line of docs/study/runs.csv. */
export interface StudyRow {
  /** Task and number of replicas, as in mnist-16. */
  readonly cell: string;
  readonly data: 'alike' | 'skewed';
  readonly variant: string;
  /** Times the learning rate of the cell. */
  readonly rate: number;
  readonly seed: number;
  readonly status: string;
  readonly mergedAccuracy: number;
  readonly mergedLoss: number;
  /** Of the local models, before a last average: mean and worst. */
  readonly accuracy: number;
  readonly worstAccuracy: number;
  /** Sent by one replica, all signals and one last average included. */
  readonly bytes: number;
  readonly messages: number;
  /** Bytes of one model. */
  readonly modelBytes: number;
  readonly steps: number;
  /** Exact averages, the last one included. */
  readonly averages: number;
  /** Virtual seconds on networks.ts; only of the first seed, NaN of others. */
  readonly fast: number;
  readonly lan: number;
  readonly wan: number;
  readonly peakGini: number;
  readonly finalDistance: number;
  /** Mean harm q, if the method measures it. */
  readonly harm: number;
  /** After which steps it averaged exactly, if it decided so by itself. */
  readonly after: readonly number[];
  readonly sha256: string;
}

const columns: readonly (keyof StudyRow)[] = [
  ...(['cell', 'data', 'variant', 'rate', 'seed', 'status', 'mergedAccuracy', 'mergedLoss', 'accuracy'] as const),
  ...(['worstAccuracy', 'bytes', 'messages', 'modelBytes', 'steps', 'averages', 'fast', 'lan', 'wan'] as const),
  ...(['peakGini', 'finalDistance', 'harm', 'after', 'sha256'] as const),
];
const texts: readonly (keyof StudyRow)[] = ['cell', 'data', 'variant', 'status', 'sha256'];

const short = (value: number) => (Number.isNaN(value) ? '' : String(Number(value.toPrecision(7))));

export const header = `${columns.join(',')}\n`;

export const lineOf = (row: StudyRow): string =>
  `${columns
    .map((column) => {
      const value = row[column];
      return typeof value === 'number' ? short(value) : typeof value === 'string' ? value : value.join(' ');
    })
    .join(',')}\n`;

export function rowOf(line: string): StudyRow {
  const values = line.split(',');
  if (values.length !== columns.length) throw new Error(`not a line of the study: ${line}`);
  return Object.fromEntries(
    columns.map((column, index) => {
      const text = values[index]!;
      if (column === 'after') return [column, text === '' ? [] : text.split(' ').map(Number)];
      return [column, texts.includes(column) ? text : text === '' ? Number.NaN : Number(text)];
    }),
  ) as unknown as StudyRow;
}

/** The lines of a file, none if it is not there. */
export function readRows(file: string | URL): StudyRow[] {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(1).map(rowOf);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

export const keyOf = ({ cell, data, variant, rate, seed }: Job): string => [cell, data, variant, rate, seed].join(' ');

export type Job = Pick<StudyRow, 'cell' | 'data' | 'variant' | 'rate' | 'seed'>;

/** The committed summaries. */
export const stored = new URL('../../docs/study/runs.csv', import.meta.url);
