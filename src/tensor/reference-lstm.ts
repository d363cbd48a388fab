import { type Dense, dense, type ReferenceRule } from './reference-dense.ts';

/** The LSTM layer of the float64 reference, one gate of one element at a time. Gate order: input, forget, cell, output. */

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));

export const recurrentReference: {
  readonly lstm: ReferenceRule<'lstm'>;
  readonly lstmGrad: ReferenceRule<'lstmGrad'>;
} = {
  lstm: ([x, h0, c0, weightInput, weightHidden, biasInput, biasHidden], _, shapes) => {
    const [time, batch, width] = x.shape as [number, number, number];
    const hidden = h0.shape[1]!;
    const [y, h, c, gates, cells] = shapes.map((shape) => dense(shape, () => 0)) as [Dense, Dense, Dense, Dense, Dense];
    h.data.set(h0.data);
    c.data.set(c0.data);
    for (let t = 0; t < time; t++)
      for (let b = 0; b < batch; b++) {
        const at = t * batch + b;
        for (let g = 0; g < 4 * hidden; g++) {
          let sum = biasInput.data[g]! + biasHidden.data[g]!;
          for (let i = 0; i < width; i++) sum += x.data[at * width + i]! * weightInput.data[g * width + i]!;
          for (let j = 0; j < hidden; j++) sum += h.data[b * hidden + j]! * weightHidden.data[g * hidden + j]!;
          gates.data[at * 4 * hidden + g] = Math.floor(g / hidden) === 2 ? Math.tanh(sum) : sigmoid(sum);
        }
        for (let j = 0; j < hidden; j++) {
          const gate = (k: number) => gates.data[at * 4 * hidden + k * hidden + j]!;
          const cell = gate(1) * c.data[b * hidden + j]! + gate(0) * gate(2);
          c.data[b * hidden + j] = cells.data[at * hidden + j] = cell;
          h.data[b * hidden + j] = y.data[at * hidden + j] = gate(3) * Math.tanh(cell);
        }
      }
    return [y, h, c, gates, cells];
  },

  lstmGrad: ([dy, dhLast, dcLast, x, h0, c0, weightInput, weightHidden, y, gates, cells], _, shapes) => {
    const [time, batch, width] = x.shape as [number, number, number];
    const hidden = h0.shape[1]!;
    const results = shapes.map((shape) => dense(shape, () => 0));
    const [dx, dh, dc, dweightInput, dweightHidden, dbias] = results as [Dense, Dense, Dense, Dense, Dense, Dense];
    dh.data.set(dhLast.data);
    dc.data.set(dcLast.data);
    for (let t = time - 1; t >= 0; t--)
      for (let b = 0; b < batch; b++) {
        const at = t * batch + b;
        const dgate = new Float64Array(4 * hidden);
        const before = (from: Dense, first: Dense, j: number) =>
          t === 0 ? first.data[b * hidden + j]! : from.data[(at - batch) * hidden + j]!;
        for (let j = 0; j < hidden; j++) {
          const [i, f, g, o] = [0, 1, 2, 3].map((k) => gates.data[at * 4 * hidden + k * hidden + j]!) as [
            number,
            number,
            number,
            number,
          ];
          const cell = Math.tanh(cells.data[at * hidden + j]!);
          const dhere = dh.data[b * hidden + j]! + dy.data[at * hidden + j]!;
          const dcell = dc.data[b * hidden + j]! + dhere * o * (1 - cell * cell);
          dgate[j] = dcell * g * i * (1 - i);
          dgate[hidden + j] = dcell * before(cells, c0, j) * f * (1 - f);
          dgate[2 * hidden + j] = dcell * i * (1 - g * g);
          dgate[3 * hidden + j] = dhere * cell * o * (1 - o);
          dc.data[b * hidden + j] = dcell * f;
        }
        for (let j = 0; j < hidden; j++) dh.data[b * hidden + j] = 0;
        for (let g = 0; g < 4 * hidden; g++) {
          dbias.data[g]! += dgate[g]!;
          for (let k = 0; k < width; k++) {
            dx.data[at * width + k]! += dgate[g]! * weightInput.data[g * width + k]!;
            dweightInput.data[g * width + k]! += dgate[g]! * x.data[at * width + k]!;
          }
          for (let j = 0; j < hidden; j++) {
            dh.data[b * hidden + j]! += dgate[g]! * weightHidden.data[g * hidden + j]!;
            dweightHidden.data[g * hidden + j]! += dgate[g]! * before(y, h0, j);
          }
        }
      }
    return [dx, dh, dc, dweightInput, dweightHidden, dbias];
  },
};
