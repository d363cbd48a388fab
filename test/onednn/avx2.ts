import { loadLibrary } from '../../src/onednn/library.ts';
import { errors } from './errors.ts';

/** Largest error of each model's gradients. Widths are multiples of 512 and images have one channel, which AVX2 has ways of its own for. */
const cases = {
  mlp: [{ kind: 'mlp', hidden: [512] }, [8], 512],
  cnn: [{ kind: 'cnn' }, [1, 8, 8], 4],
  lstm: [{ kind: 'lstm', layers: 1, hidden: 128, bptt: 4, dropout: 0 }, [], 3],
} as const;

const found: Record<string, number> = {};
for (const [name, [settings, shape, batch]] of Object.entries(cases))
  found[name] = Math.max(...(await errors(settings, shape, batch)));
console.log(JSON.stringify({ vectors: (await loadLibrary()).vectors, errors: found }));
