import { expect, it } from 'vitest';
import { rounded } from '../algorithm/rounding.ts';
import { vector } from '../algorithm/traffic.ts';
import { Random } from '../base/random.ts';
import { Kernel } from '../kernel/kernel.ts';
import { allocateRows, Rows } from '../kernel/memory.ts';

it.each([1, 3, 16, 255, 256, 257, 1000])(
  'rounding %s numbers, the kernel has the bits of the function, whatever stands behind them',
  (columns) => {
    const random = new Random(columns, 'test');
    const memory = allocateRows(columns, { x: 3, y: 3 });
    const [x, y, kernel] = [new Rows(memory, 'x'), new Rows(memory, 'y'), new Kernel(memory)];
    new Float32Array(memory.memories[0]!.buffer).fill(1e9);
    for (const bits of [2, 4, 8, 16]) {
      const given = { tensors: [vector(columns)], scalar: () => bits, random: () => random };
      const rows = [
        Float32Array.from({ length: columns }, (_, c) => 10 ** -(c >> 8) * random.normal()),
        new Float32Array(columns),
        Float32Array.from({ length: columns }, (_, c) => (c === 0 ? Number.NaN : -0.4)),
      ];
      rows.forEach((row, i) => {
        x.write(i, row);
        kernel.round(y, i, x, rounded.rounds!(given));
        const [wanted, got] = [new Float32Array(columns), new Float32Array(columns)];
        rounded.apply(given, wanted, row);
        y.read(i, got);
        expect([...got]).toEqual([...wanted]);
      });
    }
  },
);
