import type { Name } from '../graph.ts';
import type { Lowerings, Operand } from './rule.ts';

/**
 * The layer unrolled over time. What does not depend on the step before is one product over all of time: the input
 * projections going forward; the input gradient and the weight gradients going back.
 */
export const recurrent: Lowerings<'lstm' | 'lstmGrad'> = {
  lstm: (
    graph,
    { inputs: [x, h0, c0, weightInput, weightHidden, biasInput, biasHidden], shapes: [, , , gateShape] },
  ) => {
    const [time, batch, width] = x.shape as [number, number, number];
    const bias = graph.op('Add', [biasInput.name, biasHidden.name]);
    const rows = graph.reshape(x.name, [time * batch, width]);
    const projected = graph.op('Gemm', [rows, weightInput.name, bias], { transB: 1 });
    const steps = graph.split(projected, 0, time);
    let [h, c] = [h0.name, c0.name];
    const [outputs, gates, cells]: [Name[], Name[], Name[]] = [[], [], []];
    for (const step of steps) {
      const [i, f, g, o] = graph.split(graph.op('Gemm', [h, weightHidden.name, step], { transB: 1 }), 1, 4);
      const activated = ['Sigmoid', 'Sigmoid', 'Tanh', 'Sigmoid'].map((op, k) => graph.op(op, [[i, f, g, o][k]!]));
      const [input, forget, cell, output] = activated as [Name, Name, Name, Name];
      c = graph.op('Add', [graph.op('Mul', [forget, c]), graph.op('Mul', [input, cell])]);
      h = graph.op('Mul', [output, graph.op('Tanh', [c])]);
      outputs.push(h);
      cells.push(c);
      gates.push(graph.concat(activated, 1));
    }
    const over = (parts: readonly Name[], hidden: number) =>
      graph.joined(parts, (whole) => graph.reshape(whole, [time, batch, hidden]));
    const hidden = gateShape[2]! / 4;
    return [over(outputs, hidden), h, c, over(gates, 4 * hidden), over(cells, hidden)];
  },

  // With tc = tanh(c): dc/dh = o − h·tc, and each gate's gradient is dc or dh times a factor that is known for all of time
  // beforehand, so that a step is left with few operations.
  lstmGrad: (
    graph,
    { inputs: [dy, dhLast, dcLast, x, h0, c0, weightInput, weightHidden, y, gates, cells], shapes },
  ) => {
    const [time, batch, width] = x.shape as [number, number, number];
    const hidden = h0.shape[1]!;
    const rows = ({ name }: Operand, size: number) => graph.reshape(name, [time * batch, size]);
    const shifted = (first: Operand, { name }: Operand) => {
      const steps = graph.partsOf(name) ?? graph.split(graph.reshape(name, [time * batch, hidden]), 0, time);
      return graph.op('Concat', [first.name, ...steps.slice(0, -1)], { axis: 0 });
    };
    const times = (a: Name, b: Name) => graph.op('Mul', [a, b]);
    const minus = (a: Name, b: Name) => graph.op('Sub', [a, b]);

    const [i, f, g, o] = graph.split(rows(gates, 4 * hidden), 1, 4) as [Name, Name, Name, Name];
    const h = rows(y, hidden);
    const [inputCell, forgetCell] = [times(i, g), times(f, shifted(c0, cells))];
    const byCell = [
      minus(inputCell, times(inputCell, i)),
      minus(forgetCell, times(forgetCell, f)),
      minus(i, times(inputCell, g)),
    ];
    const perStep = (all: Name) => graph.split(all, 0, time);
    const cellByHidden = perStep(minus(o, times(h, graph.op('Tanh', [rows(cells, hidden)]))));
    const outputByHidden = perStep(minus(h, times(h, o)));
    const gatesByCell = perStep(graph.reshape(graph.op('Concat', byCell, { axis: 1 }), [time * batch, 3, hidden]));
    const [forget, dys] = [perStep(f), perStep(rows(dy, hidden))];

    let dh = graph.op('Add', [dhLast.name, dys[time - 1]!]);
    let dc = dcLast.name;
    const dgates: Name[] = [];
    for (let t = time - 1; t >= 0; t--) {
      dc = graph.op('Add', [dc, times(dh, cellByHidden[t]!)]);
      const three = times(gatesByCell[t]!, graph.reshape(dc, [batch, 1, hidden]));
      const parts = [graph.reshape(three, [batch, 3 * hidden]), times(dh, outputByHidden[t]!)];
      const dgate = graph.op('Concat', parts, { axis: 1 });
      dgates.unshift(dgate);
      dc = times(dc, forget[t]!);
      dh = graph.op('Gemm', t > 0 ? [dgate, weightHidden.name, dys[t - 1]!] : [dgate, weightHidden.name]);
    }
    const all = graph.op('Concat', dgates, { axis: 0 });
    return [
      graph.reshape(graph.op('Gemm', [all, weightInput.name]), shapes[0]),
      dh,
      dc,
      graph.op('Gemm', [all, rows(x, width)], { transA: 1 }),
      graph.op('Gemm', [all, shifted(h0, y)], { transA: 1 }),
      graph.sum(all, [0]),
    ];
  },
};
