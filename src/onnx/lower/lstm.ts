import type { Graph, Name } from '../graph.ts';
import type { Lowerings } from './rule.ts';

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
      h = graph.op('Mul', [output, tanh(graph, c)]);
      outputs.push(h);
      cells.push(c);
      gates.push(graph.concat(activated, 1));
    }
    const over = (parts: readonly Name[], hidden: number) =>
      graph.joined(parts, (whole) => graph.reshape(whole, [time, batch, hidden]));
    const hidden = gateShape[2]! / 4;
    return [over(outputs, hidden), h, c, over(gates, 4 * hidden), over(cells, hidden)];
  },

  lstmGrad: (
    graph,
    { inputs: [dy, dhLast, dcLast, x, h0, c0, weightInput, weightHidden, y, gates, cells], shapes },
  ) => {
    const [time, batch, width] = x.shape as [number, number, number];
    const hidden = h0.shape[1]!;
    const steps = ({ name }: { name: Name }, size: number) =>
      graph.partsOf(name) ?? graph.split(graph.reshape(name, [time * batch, size]), 0, time);
    const [dys, hs, gs, cs] = [steps(dy, hidden), steps(y, hidden), steps(gates, 4 * hidden), steps(cells, hidden)];
    const one = graph.float(1);
    const complement = (value: Name) => graph.op('Sub', [one, value]);
    const product = (...factors: Name[]) => factors.reduce((left, right) => graph.op('Mul', [left, right]));
    let [dh, dc] = [dhLast.name, dcLast.name];
    const dgates: Name[] = [];
    for (let t = time - 1; t >= 0; t--) {
      const [i, f, g, o] = graph.split(gs[t]!, 1, 4) as [Name, Name, Name, Name];
      const cell = tanh(graph, cs[t]!);
      dh = graph.op('Add', [dh, dys[t]!]);
      dc = graph.op('Add', [dc, product(dh, o, complement(product(cell, cell)))]);
      const gradients = [
        product(dc, g, i, complement(i)),
        product(dc, t === 0 ? c0.name : cs[t - 1]!, f, complement(f)),
        product(dc, i, complement(product(g, g))),
        product(dh, cell, o, complement(o)),
      ];
      const dgate = graph.concat(gradients, 1);
      dgates.unshift(dgate);
      dc = product(dc, f);
      dh = graph.op('Gemm', [dgate, weightHidden.name]);
    }
    const all = graph.op('Concat', dgates, { axis: 0 });
    const before = graph.op('Concat', [h0.name, ...hs.slice(0, -1)], { axis: 0 });
    const rows = graph.reshape(x.name, [time * batch, width]);
    return [
      graph.reshape(graph.op('Gemm', [all, weightInput.name]), shapes[0]),
      dh,
      dc,
      graph.op('Gemm', [all, rows], { transA: 1 }),
      graph.op('Gemm', [all, before], { transA: 1 }),
      graph.sum(all, [0]),
    ];
  },
};

/** tanh of a cell, which forward and backward share. */
const tanh = (graph: Graph, cell: Name) => graph.once(`tanh of ${cell}`, () => graph.op('Tanh', [cell]));
