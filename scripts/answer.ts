import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSession } from '../src/onnx/backend.ts';
import { RuntimeTensor } from '../src/onnx/runtime.ts';

/** For own_models.py: what the model.onnx of a folder that `dbench export` made answers to x.bin, as logits.bin. */
const [folder = '.'] = process.argv.slice(2);
const { onnx } = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8'));
const { dtype, shape } = onnx.inputs[0];
const session = await openSession(readFileSync(join(folder, 'model.onnx')), { optimize: true });
const { buffer } = Uint8Array.from(readFileSync(join(folder, 'x.bin')));
const x = new RuntimeTensor(dtype, dtype === 'int32' ? new Int32Array(buffer) : new Float32Array(buffer), shape);
const { logits } = await session.run({ x });
writeFileSync(join(folder, 'logits.bin'), new Uint8Array((logits!.data as Float32Array).slice().buffer));
session.release();
