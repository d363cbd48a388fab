import { compressor } from '../compressor.ts';

/** mean|x| · sign(x); 0 counts as positive. Bernstein et al., "signSGD", ICML 2018. */
export const sign = compressor({
  name: 'sign',
  summary: 'the sign of every number, and their mean magnitude',
  settings: {},
  bytes: (_, size) => 4 + Math.ceil(size / 8),
  encode(_, values, message) {
    let sum = 0;
    for (const value of values) sum += Math.abs(value);
    message.setFloat32(0, sum / values.length, true);
    for (let c = 0; c < values.length; c += 8) {
      let byte = 0;
      for (let bit = 0; bit < 8 && c + bit < values.length; bit++) if (values[c + bit]! < 0) byte |= 1 << bit;
      message.setUint8(4 + c / 8, byte);
    }
  },
  decode(_, message, memory) {
    const scale = message.getFloat32(0, true);
    for (let c = 0; c < memory.length; c++)
      memory[c]! += message.getUint8(4 + (c >> 3)) & (1 << (c & 7)) ? -scale : scale;
  },
});
