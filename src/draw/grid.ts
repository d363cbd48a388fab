import { at, coordinate, type Position } from './svg.ts';

/** Replicas in rows and columns that wrap around, in a square. */
export interface Grid {
  readonly rows: number;
  readonly columns: number;
  /** Between neighbours. */
  readonly spacing: number;
  position(i: number): Position;
}

export function gridOf(n: number, columns: number, { x, y }: Position, radius: number): Grid {
  const rows = n / columns;
  const spacing = (2 * radius) / Math.max(rows, columns);
  return {
    rows,
    columns,
    spacing,
    position: (i) => ({
      x: x + ((i % columns) - (columns - 1) / 2) * spacing,
      y: y + (Math.floor(i / columns) - (rows - 1) / 2) * spacing,
    }),
  };
}

/** Path data of an edge: a line, or, if it wraps around, what leaves the grid on one side and comes back on the other. */
export function gridEdge(grid: Grid, [i, j]: readonly [number, number]): string {
  const [a, b] = [grid.position(i), grid.position(j)];
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  if (Math.abs(dx) + Math.abs(dy) < 1.5 * grid.spacing) return `M${at(a)}L${at(b)}`;
  // Away from the other end, by a little less than half of the way to where the next row or column would be.
  const out = { x: -Math.sign(dx) * 0.42 * grid.spacing, y: -Math.sign(dy) * 0.42 * grid.spacing };
  const stub = dx === 0 ? `v${coordinate(-out.y)}` : `h${coordinate(-out.x)}`;
  return `M${at(a)}L${at({ x: a.x + out.x, y: a.y + out.y })}M${at(b)}${stub}`;
}

/** Numbers at the beginning of each row, or of some of many. */
export function gridLabels(grid: Grid, size: number): string {
  const every = Math.max(1, Math.ceil((1.3 * size) / grid.spacing));
  const rows = Array.from({ length: Math.ceil(grid.rows / every) }, (_, row) => row * every * grid.columns);
  const texts = rows.map((i) => {
    const { x, y } = grid.position(i);
    const left = x - 0.5 * grid.spacing - (0.3 * String(i).length + 0.4) * size;
    return `<text x="${coordinate(left)}" y="${coordinate(y + 0.36 * size)}" font-size="${size}">${i}</text>`;
  });
  return `<g class="labels">${texts.join('')}</g>`;
}
