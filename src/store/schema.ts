import {
  type Column,
  type Columns,
  checkpointColumns,
  edgeColumns,
  evaluationColumns,
  linkColumns,
  normColumns,
  stepColumns,
  tensorColumns,
} from '../engine/columns.ts';

/** The tables of a run's database. */
export const eventTables = {
  steps: stepColumns,
  norms: normColumns,
  edges: edgeColumns,
  links: linkColumns,
  evaluations: evaluationColumns,
  tensors: tensorColumns,
  checkpoints: checkpointColumns,
} as const;

export type EventTable = keyof typeof eventTables;

/** `learningRate` → `learning_rate` */
export const snake = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export const sqlText = (value: string) => `'${value.replaceAll("'", "''")}'`;
export const sqlName = (name: string) => `"${name.replaceAll('"', '""')}"`;

export function sqlType({ type, per }: Column): string {
  if (per === 'replica') return 'double[]';
  return type === 'text' ? 'varchar' : type;
}

/** The columns of a table as they are stored: name in SQL, type, and key in a row. */
export const storedColumns = (columns: Columns) =>
  Object.entries(columns).map(([key, column]) => ({ key, column, name: snake(key), type: sqlType(column) }));

export const createTables = Object.entries(eventTables)
  .map(([table, columns]) => {
    const list = storedColumns(columns).map(({ name, type }) => `${name} ${type}`);
    return `create table if not exists ${table} (${list})`;
  })
  .join(';');
