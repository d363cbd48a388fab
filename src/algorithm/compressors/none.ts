import { compressor, plain } from '../compressor.ts';

export const none = compressor({
  name: 'none',
  aliases: ['identity'],
  summary: 'every number as it is',
  settings: {},
  bytes: (_, size) => 4 * size,
  encode: (_, values, message) => plain.encode(values, message),
  decode: (_, message, memory) => plain.decode(message, memory),
});
