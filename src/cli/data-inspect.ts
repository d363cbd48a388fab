import { Command } from 'commander';
import { type Counts, type Inspection, inspectData } from '../data/inspect.ts';
import { areNumbers } from '../data/sets/table/settings.ts';
import { jsonOption } from './options.ts';
import { fields, number, table } from './print.ts';

const orNothing = (value: number | null) => (value === null || !Number.isFinite(value) ? '' : number(value, 4));

/** Class by class; of many the most and the least frequent. */
function countsText(counts: Counts, total: number, what = 'class'): string {
  const shown = counts.length <= 20 ? counts : counts.slice(0, 20);
  const rows = shown.map(([value, count]) => [value, number(count), `${((100 * count) / total).toFixed(1)} %`]);
  const more = counts.length - shown.length;
  return `${table([what, 'count', 'share'], rows)}${more > 0 ? `\nand ${number(more)} more` : ''}`;
}

const sum = (counts: Counts) => counts.reduce((total, [, count]) => total + count, 0);
const shapeText = (shape: readonly number[]) => `(${shape.join(', ')})`;

/** A block of an experiment that reads the file. */
const settings = (lines: readonly string[]) => [
  '',
  'In an experiment:',
  '',
  'data:',
  ...lines.map((line) => `  ${line}`),
];

type Table = Inspection & { kind: 'table' };

/** The first column that numbers the rows, which is no feature. */
const counters = ({ columns, rows }: Table): string[] =>
  columns
    .filter(({ numbers, distinct, min, max }) => numbers === rows && distinct === rows && max! - min! === rows - 1)
    .slice(0, 1)
    .map(({ name }) => name);

/** What the labels of an archive ask for, if they are no classes. */
const taskOf = (arrays: (Inspection & { kind: 'numpy' })['arrays']): string[] => {
  const y = arrays.find(({ name }) => ['y', 'y_train'].includes(name));
  if (y === undefined || y.classes !== undefined) return [];
  const several = y.shape.length === 2 && y.shape[1]! > 1;
  return [several && y.whole && y.min >= 0 && y.max <= 1 ? 'task: multi-label' : 'task: regression'];
};

function columnRow(column: Table['columns'][number], rows: number): string[] {
  const { name, present, numbers, distinct, min, mean, max, stray } = column;
  const numeric = numbers === present && numbers > 0;
  const kind = numeric ? 'number' : numbers >= 0.5 * present && present > 0 ? 'mixed' : 'text';
  const example = numeric || stray === null ? '' : stray.length > 24 ? `${stray.slice(0, 23)}…` : stray;
  return [
    name,
    kind,
    number(rows - present),
    number(distinct),
    orNothing(min),
    orNothing(mean),
    orNothing(max),
    example,
  ];
}

function textOf(file: string, label: string | undefined, found: Inspection): string[] {
  switch (found.kind) {
    case 'table': {
      const rows = found.columns.map((column) => columnRow(column, found.rows));
      const isRegression = found.columns.some((column) => column.name === label && areNumbers(column));
      const mixed = rows.filter((row) => row[1] === 'mixed').map(([name]) => name);
      return [
        `${file}: a table of ${number(found.rows)} rows`,
        '',
        table(['column', 'kind', 'missing', 'different', 'min', 'mean', 'max', 'such as'], rows, ['kind', 'such as']),
        ...mixed.map((name) => `\n${name}: mostly numbers, but not only: mend it, or list it under data.categorical`),
        ...(found.classes && !isRegression ? ['', countsText(found.classes, found.rows, label)] : []),
        ...settings([
          'kind: table',
          `path: ${file}`,
          `label: ${label ?? found.columns.at(-1)!.name}${label === undefined ? '   # the column to predict: choose' : ''}`,
          ...(isRegression ? ['task: regression'] : []),
          ...counters(found).map((name) => `ignore: [${name}]   # it only counts the rows`),
        ]),
      ];
    }
    case 'numpy': {
      const rows = found.arrays.map(({ name, dtype, shape, min, mean, max, bad }) => [
        ...[name === '' ? '(the only one)' : name, dtype, shapeText(shape)],
        ...[orNothing(min), orNothing(mean), orNothing(max), number(bad)],
      ]);
      const headers = ['array', 'type', 'shape', 'min', 'mean', 'max', 'not finite'];
      const classes = found.arrays.flatMap(({ name, classes: counts }) =>
        counts === undefined ? [] : ['', ...(name === '' ? [] : [`${name}:`]), countsText(counts, sum(counts))],
      );
      const names = found.arrays.map(({ name }) => name);
      const pair = names.length === 1 && names[0] === '' ? ['labelsPath: …   # a .npy file with the labels'] : [];
      return [
        `${file}: ${number(found.arrays.length)} NumPy array${found.arrays.length === 1 ? '' : 's'}`,
        '',
        table(headers, rows, ['type', 'shape']),
        ...classes,
        ...settings(['kind: numpy', `path: ${file}`, ...pair, ...taskOf(found.arrays)]),
      ];
    }
    case 'images':
      return [
        `${file}: images of ${number(found.classes.length)} classes`,
        '',
        table(
          ['class', 'train', 'val'],
          found.classes.map(({ name, train, val }) => [name, number(train), number(val)]),
        ),
        ...settings(['kind: images', `path: ${file}`]),
      ];
    case 'libsvm':
      return [
        `${file}: ${number(found.samples)} samples of ${number(found.features)} features in LIBSVM format`,
        '',
        countsText(found.classes, found.samples),
        ...settings(['kind: libsvm', `trainPath: ${file}`]),
      ];
    case 'text':
      return [
        `${file}: a text`,
        fields([
          ['characters', `${number(found.characters)}, ${number(found.differentCharacters)} different`],
          ['words', `${number(found.words)}, ${number(found.differentWords)} different`],
          ['lines', number(found.lines)],
        ]),
        ...settings(['kind: text', `path: ${file}`, 'by: characters   # or words']),
      ];
  }
}

export function inspectCommand(): Command {
  return new Command('inspect')
    .description('what is in a file of yours: columns, arrays, class counts, and how to name it in an experiment')
    .argument('<file>', 'CSV, Parquet, .npy, .npz, LIBSVM or text, plain or .gz; or a folder of images')
    .option('--label <column>', 'count the values of this column of a table')
    .option('--no-header', 'the first row of CSV holds values, not names')
    .addOption(jsonOption())
    .action(async (file: string, options: { label?: string; header: boolean; json?: true }) => {
      const found = await inspectData(file, options);
      if (options.json) console.log(JSON.stringify({ file, ...found }, null, 2));
      else console.log(textOf(file, options.label, found).join('\n'));
    });
}
