import { Trace } from '../tensor/trace.ts';
import { type Model, tracing } from './context.ts';
import type { Step } from './step.ts';

/** (params, state, x) → (logits), as a trained model is used; of a text also `state'`, from which the next batch continues. */
export function inferStep(model: Model, batchSize: number): Step {
  const trace = new Trace();
  const batch = model.batch(batchSize);
  const { context, layouts, nextState } = tracing(trace, false, undefined);
  const logits = model.forward(context, trace.input('x', batch.x));
  return { program: trace.program({ logits, ...nextState() }), ...layouts(), slots: [], batch };
}
